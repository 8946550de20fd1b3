"""Notifications by e-mail: their job; not the mail server."""
