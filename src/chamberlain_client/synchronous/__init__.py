"""The client for programs that do not await: the twin of `asynchronous`, made from it by `python3 dev.py twin`.

Nothing here but this file is written by hand.
"""
