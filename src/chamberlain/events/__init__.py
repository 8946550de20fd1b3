"""The feed of events: list it from a cursor.

Events are written by the service that makes a change, in its transaction (`store/events.py`), and not here.
"""
