"""A small Graph-compatible directory: users, groups, teams, labels and sites of many tenants, in a schema of its own.

Here live its tables (`migrations/`, `sql/`), what reads and writes them, and its HTTP surface below `/v1.0`. It is a
product of its own: it knows no rule, no table and no setting of the service that comes along with it.
"""
