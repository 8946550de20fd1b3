# SPDX-License-Identifier: Apache-2.0
"""One function for each call of Graph.

The docstring has the path and the least permission; `operations` has the same table.
"""
