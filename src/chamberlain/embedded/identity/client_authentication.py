"""Which program asks, and whether it is itself (RFC 6749, 2.3)."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_plus
from uuid import UUID

from starlette.requests import Request

from chamberlain.embedded.identity import random_secrets
from chamberlain.embedded.identity.clients import ClientKind, RegisteredClient, find_clients
from chamberlain.embedded.identity.errors import InvalidClient, InvalidRequest, UnauthorizedClient
from chamberlain.embedded.identity.identity_platform import IdentityPlatform


@dataclass(frozen=True, slots=True)
class _Credentials:
    client_id: str
    secret: str = field(repr=False)
    by_header: bool


async def authenticate(
    platform: IdentityPlatform, tenant_id: UUID, request: Request, form: Mapping[str, str]
) -> RegisteredClient:
    """The confidential program that the request proves to come from."""
    credentials = _credentials(request, form)
    client = await _find(platform, tenant_id, credentials.client_id)
    if client is not None and client.kind is ClientKind.PUBLIC:
        raise UnauthorizedClient(
            f"The program {client.name} has no secret: it asks without one, in a user's name, and never by itself."
        )
    if client is None or not await _is_right(platform, credentials.secret, client.secret_hash):
        raise InvalidClient(
            "The program is not known in this tenant, or its secret is wrong.", by_header=credentials.by_header
        )
    return client


async def identify(
    platform: IdentityPlatform, tenant_id: UUID, request: Request, form: Mapping[str, str]
) -> RegisteredClient:
    """The program that asks in a user's name: a public one says its id, a confidential one proves to be itself."""
    if "authorization" in request.headers or "client_secret" in form:
        return await authenticate(platform, tenant_id, request, form)
    client = await _find(platform, tenant_id, form.get("client_id", ""))
    if client is None:
        raise InvalidClient("Send client_id, the id of a program that is known in this tenant.")
    if client.kind is ClientKind.CONFIDENTIAL:
        raise InvalidClient(f"The program {client.name} has a secret. Send it as client_secret.")
    return client


async def _find(platform: IdentityPlatform, tenant_id: UUID, client_id: str) -> RegisteredClient | None:
    clients = await find_clients(platform.pool, tenant_id)
    return next((each for each in clients if str(each.id) == client_id.lower()), None)


async def _is_right(platform: IdentityPlatform, secret: str, stored: str | None) -> bool:
    # Ids of programs are known to everybody, so it may show in the time taken that there is no such program.
    if stored is None:
        return False
    if random_secrets.is_client_secret_hash(stored):
        return random_secrets.verify_client_secret(secret, stored)
    # As an earlier version kept it.
    return await platform.secrets.is_right(secret, stored)


def _credentials(request: Request, form: Mapping[str, str]) -> _Credentials:
    header = request.headers.get("authorization")
    if header is None:
        if "client_id" not in form or "client_secret" not in form:
            raise InvalidClient("Send client_id and client_secret in the body, or both in the header Authorization.")
        return _Credentials(form["client_id"], form["client_secret"], by_header=False)
    if "client_secret" in form:
        raise InvalidRequest("Send the secret in the body or in the header Authorization, not in both.")
    credentials = _basic(header)
    if form.get("client_id", credentials.client_id) != credentials.client_id:
        raise InvalidRequest("The header Authorization names another program than client_id.")
    return credentials


def _basic(header: str) -> _Credentials:
    scheme, _, encoded = header.partition(" ")
    try:
        decoded = b64decode(encoded.strip(), validate=True).decode("utf-8")
    except ValueError:
        decoded = ""
    client_id, colon, secret = decoded.partition(":")
    if scheme.lower() != "basic" or not colon:
        raise InvalidClient("The header Authorization is no Basic one with a name and a secret.", by_header=True)
    # Both are written as in a form before they are put together.
    return _Credentials(unquote_plus(client_id), unquote_plus(secret), by_header=True)
