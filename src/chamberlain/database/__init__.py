"""PostgreSQL: connections, pool, transactions, batches and migrations.

No statement about the tables of a noun.
"""
