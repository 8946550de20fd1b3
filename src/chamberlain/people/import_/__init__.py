# SPDX-License-Identifier: Apache-2.0
"""Import people from a CSV or LDIF file.

Runs on the machine of the user and calls the API.
"""
