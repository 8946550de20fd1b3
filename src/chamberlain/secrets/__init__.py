"""Encryption keys: the keys file and the key ring that encrypts stored secrets."""
