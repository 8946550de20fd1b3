"""Notifications by e-mail: recipients, texts, sending job and mail server."""
