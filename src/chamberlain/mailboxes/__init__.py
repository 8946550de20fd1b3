"""Mailboxes: request and read them, and create them in the directory."""
