# SPDX-License-Identifier: Apache-2.0
"""Client authentication (RFC 6749, 2.3)."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_plus
from uuid import UUID

from starlette.requests import Request

from chamberlain.embedded.identity.clients import ClientKind, RegisteredClient, client_by_id, find_clients
from chamberlain.embedded.identity.errors import InvalidClient, InvalidRequest, UnauthorizedClient
from chamberlain.embedded.identity.hashing import is_client_secret_hash, verify_client_secret
from chamberlain.embedded.identity.identity_platform import IdentityPlatform


@dataclass(frozen=True, slots=True)
class _Credentials:
    client_id: str
    secret: str = field(repr=False)
    by_header: bool


async def authenticate(
    platform: IdentityPlatform, tenant_id: UUID, request: Request, form: Mapping[str, str]
) -> RegisteredClient:
    """Authenticate a confidential client by its secret."""
    credentials = _credentials(request, form)
    client = client_by_id(await find_clients(platform.pool, tenant_id), credentials.client_id)
    if client is not None and client.kind is ClientKind.PUBLIC:
        raise UnauthorizedClient(
            f"The application {client.name} is public. It has no secret and acts only on behalf of a user."
        )
    if client is None or not await _is_right(platform, credentials.secret, client.secret_hash):
        raise InvalidClient(
            "The application is unknown in this tenant, or its secret is wrong.", by_header=credentials.by_header
        )
    return client


async def identify(
    platform: IdentityPlatform, tenant_id: UUID, request: Request, form: Mapping[str, str]
) -> RegisteredClient:
    """Identify the client that acts for a user.

    A public client sends its id. A confidential client authenticates.
    """
    if "authorization" in request.headers or "client_secret" in form:
        return await authenticate(platform, tenant_id, request, form)
    client = client_by_id(await find_clients(platform.pool, tenant_id), form.get("client_id", ""))
    if client is None:
        raise InvalidClient("Send client_id, the id of an application of this tenant.")
    if client.kind is ClientKind.CONFIDENTIAL:
        raise InvalidClient(f"The application {client.name} has a secret. Send it as client_secret.")
    return client


async def _is_right(platform: IdentityPlatform, secret: str, stored: str | None) -> bool:
    # Client ids are public, so timing may reveal that there is no such client.
    if stored is None:
        return False
    if is_client_secret_hash(stored):
        return verify_client_secret(secret, stored)
    # Earlier versions stored an Argon2 hash.
    return await platform.passwords.is_right(secret, stored)


def _credentials(request: Request, form: Mapping[str, str]) -> _Credentials:
    header = request.headers.get("authorization")
    if header is None:
        if "client_id" not in form or "client_secret" not in form:
            raise InvalidClient("Send client_id and client_secret in the body, or both in the Authorization header.")
        return _Credentials(form["client_id"], form["client_secret"], by_header=False)
    if "client_secret" in form:
        raise InvalidRequest("Send the secret in the body or in the Authorization header, not in both.")
    credentials = _parse_basic(header)
    if form.get("client_id", credentials.client_id) != credentials.client_id:
        raise InvalidRequest("The Authorization header and client_id name different applications.")
    return credentials


def _parse_basic(header: str) -> _Credentials:
    scheme, _, encoded = header.partition(" ")
    try:
        decoded = b64decode(encoded.strip(), validate=True).decode("utf-8")
    except ValueError:
        decoded = ""
    client_id, colon, secret = decoded.partition(":")
    if scheme.lower() != "basic" or not colon:
        raise InvalidClient("The Authorization header must be Basic, with id and secret.", by_header=True)
    # Both parts are form-encoded (RFC 6749, 2.3.1).
    return _Credentials(unquote_plus(client_id), unquote_plus(secret), by_header=True)
