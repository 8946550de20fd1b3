"""The read-only HTTP surface of the directory below `/v1.0`, a subset of Graph.

It contains the routes, the query options and the encoding of resources. Statements have parameters for all values of a
call. A callback authenticates the caller.
"""
