"""The HTTP API: decode a call, call a service, encode the answer.

The tables of endpoints (joined in app.py), the pipeline of every call (front.py) and its checks, wire models beside
their endpoints, problem documents, and the OpenAPI document with its page. No rule and no SQL belongs here; handlers
call the service of their noun. camelCase names exist only in this package, HTTP statuses of errors only in problems.py.
"""
