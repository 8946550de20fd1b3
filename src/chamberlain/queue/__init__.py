"""The queue: jobs, the loops that claim and run them, and held jobs.

Job handlers are in the folders of their nouns.
"""
