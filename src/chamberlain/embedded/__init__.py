# SPDX-License-Identifier: Apache-2.0
"""Separate products that make the service work on a laptop.

They are a database, a directory, an identity platform and sample data. Each is independent of the service and of the
others: changing an address replaces it by a real one. No rule, use case or setting of the service may be here.
"""
