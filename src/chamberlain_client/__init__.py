"""The SDK: calls Chamberlain's HTTP API with typed values.

It is a separate product for whoever writes programs against the service: it knows the wire and nothing of the service's
own code, and needs an HTTP library and a library for JSON, no more.
"""
