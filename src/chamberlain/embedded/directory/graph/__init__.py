"""The HTTP surface of the directory below `/v1.0`, a part of Graph's, read only.

Here live the paths, the query options and the shapes of answers. What is read comes from the tables by statements with
parameters; nothing is written, and who calls is told by a function that is handed in.
"""
