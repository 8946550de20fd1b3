"""The audit trail: list, export, seal, verify it, and erase users.

Rows are written by the service that makes a change, in its transaction (`store/changes.py`), and not here.
"""
