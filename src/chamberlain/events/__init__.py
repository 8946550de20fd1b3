"""The feed of events, and the outbox of webhooks.

Events are written by `changes`.
"""
