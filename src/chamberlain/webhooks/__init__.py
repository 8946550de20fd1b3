"""Webhooks: deliveries, signing secrets, and the calls themselves.

The service, the job that delivers, and the sender with its checks of addresses. Events are written elsewhere, by the
nouns that they are about.
"""
