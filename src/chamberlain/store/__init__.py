"""Our tables: named SQL and the functions that run it.

One file a noun; plain functions that take a Transaction and give back values of `rules`; a row never leaves this
package. Whatever decides something does not live here, and nothing here commits but `database.py` and the batcher,
which is a transaction of its own. `migrations/` holds the tables, `sql/` the functions of the database that are hot
enough to deserve it.
"""
