# SPDX-License-Identifier: Apache-2.0
"""People of the directory: commands that provision them by SCIM.

The server side is `embedded/directory/scim`. Only commands are here.
"""
