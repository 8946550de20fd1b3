# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL: connections, pool, transactions, batches and migrations.

No statement about the tables of a noun.
"""
