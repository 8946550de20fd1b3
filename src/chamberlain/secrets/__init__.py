"""The keys file, and the key ring that encrypts secrets."""
