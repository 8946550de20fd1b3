"""Requests: who sees them, and actions on them that are safe to repeat."""
