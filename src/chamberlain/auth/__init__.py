"""Authorization: what a caller may do, and the caller's name for records.

Permissions of a token and the administrators of a tenant are decided here. Rules about one noun, such as who sees a
request, belong to that noun.
"""
