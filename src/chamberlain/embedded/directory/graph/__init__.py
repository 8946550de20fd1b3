# SPDX-License-Identifier: Apache-2.0
"""The HTTP surface of the directory, a subset of Graph.

It is read-only unless the server has a writer (`writes/`). It contains the routes, the query options and the encoding
of resources. Statements have parameters for all values of a call. A callback authenticates the caller.
"""
