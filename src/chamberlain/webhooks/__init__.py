"""Calls of webhooks: how one is signed, which addresses may be called, and what came back.

Nothing here knows what is told, to whom, or when again: that is for `rules.deliveries` and the use cases.
"""
