# SPDX-License-Identifier: Apache-2.0
"""Embedded OpenID provider for evaluation and tests.

It issues the tokens that the product verifies. The package contains its clients, accounts, signing keys, endpoints,
pages and the certificate of its listener. It has its own schema in the database. It must not import the product, which
knows it by its issuer URL only.
"""
