"""The worker: takes jobs, runs the use cases that they ask for, and keeps or gives back their leases.

One of the callers of the use cases, beside the API. What a job does is not decided here.
"""
