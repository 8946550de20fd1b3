"""The client for programs that await. It is written by hand; its twin is made from it by `python3 dev.py twin`.

One file a noun: what may be called. What a call carries and what an answer says is decided outside, in pure modules, so
that it is the same in both.
"""
