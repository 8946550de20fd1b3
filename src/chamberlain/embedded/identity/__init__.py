"""A small OpenID provider for evaluation and tests: it issues the tokens that the product only verifies.

Here lives all of it: clients, accounts, signing keys, endpoints, and the throw-away certificate that they are served
with. It has a schema of its own in the database. It may know nothing of the product: the product knows it by its issuer
address, as it would know an organisation's own platform.
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
