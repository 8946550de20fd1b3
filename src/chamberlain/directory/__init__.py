"""The directory that holds users and groups: its ports, with one adapter per folder.

`port.py` has the interfaces that every directory implements. Adapters do not know each other. Rules and tables of the
service may not live here.
"""
