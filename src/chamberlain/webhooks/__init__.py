"""Webhooks: deliveries, calls of receivers, and administration."""
