"""Processes that are killed under load, and what has become of everything that was acknowledged.

Here lives what is killed, and how it is looked at. Which of them, how often, and what is promised stands in
bench/kills.py.
"""
