"""Embedded OpenID provider for evaluation and tests.

It issues the tokens that the product verifies. The package contains its clients, accounts, signing keys, endpoints,
pages and the certificate of its listener. It has its own schema in the database. It must not import the product, which
knows it by its issuer URL only.
"""

from chamberlain.embedded.identity.certificates import ServerCertificate, make_server_certificate
from chamberlain.embedded.identity.clients import Account, Client, ClientKind, EstateInvalid, read_clients
from chamberlain.embedded.identity.errors import IdentityUnreachable
from chamberlain.embedded.identity.identity_platform import (
    IdentityPlatform,
    LocalToken,
    OnLocalToken,
    issuer_of,
)
from chamberlain.embedded.identity.load import load
from chamberlain.embedded.identity.local_tokens import LOCAL_HEADER
from chamberlain.embedded.identity.server import routes
from chamberlain.embedded.identity.signing_keys import Sealer, SigningKeys

__all__ = [
    "LOCAL_HEADER",
    "Account",
    "Client",
    "ClientKind",
    "EstateInvalid",
    "IdentityPlatform",
    "IdentityUnreachable",
    "LocalToken",
    "OnLocalToken",
    "Sealer",
    "ServerCertificate",
    "SigningKeys",
    "issuer_of",
    "load",
    "make_server_certificate",
    "read_clients",
    "routes",
]
