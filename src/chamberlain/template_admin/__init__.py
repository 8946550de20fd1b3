"""Administration of templates, in both areas: mail and collaboration.

The service that writes templates and offers them to requesters. Reading a template for a request is not here: requests
name a revision, which `store` has.
"""
