"""The JSON shapes that files, the API and stored rows share: templates, policies, tenants, the configuration file.

A shape is a frozen struct that accepts what the documentation shows and nothing else, the reading of it with all
faults at once, and its conversion to a value of the rules and back. Shapes of one endpoint alone stand beside that
endpoint. No decision, no SQL, no HTTP and no opening of files may live here; nothing but the rules may be imported.
"""
