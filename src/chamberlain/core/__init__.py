"""Values and functions without I/O: ids, errors, JSON, time, text, paging and validation.

Imports nothing else of the service.
"""
