# SPDX-License-Identifier: Apache-2.0
"""People of the directory: search, and commands that provision them by SCIM.

The server side of SCIM is `embedded/directory/scim`.
"""
