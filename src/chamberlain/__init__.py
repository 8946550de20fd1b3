"""Chamberlain: self-service for groups, teams, sites and mailboxes in front of a directory.

This package holds nothing but its version; everything lives in the packages and modules below it (see ARCHITECTURE.md).
"""

__version__ = "0.1.0"
