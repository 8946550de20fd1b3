"""Encryption keys: list, add, rotate and drop them."""
