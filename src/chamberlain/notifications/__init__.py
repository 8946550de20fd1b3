"""Notifications by e-mail: recipients, texts, the job that sends them, and the mail server."""
