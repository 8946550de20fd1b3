"""The audit trail: list, export, seal and verify it, and erase users.

Rows are written by `changes`.
"""
