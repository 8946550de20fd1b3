"""A small OpenID provider for evaluation and tests: it issues the tokens that the product only verifies.

Here lives all of it: clients, accounts, signing keys, endpoints, and the throw-away certificate that they are served with. It has
a schema of its own in the database. It may know nothing of the product: the product knows it by its issuer address, as it would
know an organisation's own platform.
"""
