"""Jobs that are held: hold them, list them and release them.

The loops that claim and run jobs are in `chamberlain.worker`.
"""
