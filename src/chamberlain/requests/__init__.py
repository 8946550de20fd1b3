"""Requests: visibility, and idempotent actions."""
