"""The only place that builds and wires things: settings become parts, parts become processes.

Here the clock is read and random ids are made, and handed to whoever needs them. No rule and no SQL may live here.
"""
