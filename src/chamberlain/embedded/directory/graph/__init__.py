"""The HTTP surface of the directory, a read-only subset of Graph.

It contains the routes, the query options and the encoding of resources. Statements have parameters for all values of a
call. A callback authenticates the caller.
"""
