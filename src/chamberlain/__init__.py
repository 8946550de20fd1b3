# SPDX-License-Identifier: Apache-2.0
"""Self-service for groups, teams, sites and mailboxes in front of a directory.

This module has only the version; everything else is in the packages below it (see ARCHITECTURE.md).
"""

__version__ = "0.1.0"
