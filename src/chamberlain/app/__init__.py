# SPDX-License-Identifier: Apache-2.0
"""The processes and the command line: settings become parts, parts become processes.

The only package that builds things. No rules, statements or endpoints of a noun.
"""
