"""What is decided: values and decisions.

Here live the values that travel between packages, as frozen dataclasses, and the rules over them, as plain functions:
values in, decision out. Time, ids and numbers come in as parameters. No input or output, no clock, no randomness, no
framework may live here, and nothing here knows who calls it.
"""
