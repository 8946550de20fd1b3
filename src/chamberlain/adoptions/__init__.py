"""Adoptions: manage mailboxes and groups that were in the directory before.

The service, its previews, and the job that carries adoptions out. No SQL and no HTTP: `store` has the rows, `api` the
endpoints.
"""
