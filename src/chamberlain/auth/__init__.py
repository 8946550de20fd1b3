"""Authentication and authorization: bearer tokens, issuers, principals and permissions."""
