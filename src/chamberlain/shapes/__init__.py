"""The JSON shapes that files, the API and stored rows share: bodies, templates, policies, tenants, the configuration.

A shape is a frozen struct that accepts what the documentation shows and nothing else, and its conversion to a value of
the rules and back. Its fields are of the kinds in fields.py, and a Reader (reading.py) reads it, or lists all faults
at once. What an endpoint alone answers with stands beside that endpoint. No decision, no SQL, no HTTP and no opening
of files may live here; nothing but the rules may be imported.
"""
