"""Mailboxes out of a file: read, sent row by row, and kept account of, so that an import can be stopped and go on.

The files that read (table.py, columns.py, rows.py, keys.py) and the one that writes cells (report.py) are pure: bytes
and values in, values out. The command itself is mailbox_import.py beside this package.
"""
