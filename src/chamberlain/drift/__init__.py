"""Drift: compare the directory with the desired state, and repair it.

The service that starts a check, and the job that checks. Rules about properties and repairs are in `rules`, rows in
`store`.
"""
