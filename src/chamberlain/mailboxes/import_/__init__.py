"""Import mailboxes from a CSV file: read, send, checkpoint and report.

Runs on the machine of the user and calls the API.
"""
