"""The HTTP API: bytes in, a use case asked, bytes out.

Here live the table of endpoints (app.py), the one way that every call takes through it (front.py), the checks on that
way, wire models beside their endpoints, problem documents, and the OpenAPI document with its page. No rule, no SQL
and no decision about what a caller may have belongs here: those are asked of the callables in services.py, which
bootstrap fills in. Names in camelCase exist in this package alone, HTTP statuses of errors in problems.py alone.
"""
