"""Checks of our own, run by `python3 dev.py check`: English and commit messages.

A check needs only the standard library and reads only this repository. No product code lives here.
"""
