"""Tokens without a sign-in, for scripts on the same machine that can read the local secret."""

import hmac
from ipaddress import ip_address
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from chamberlain.embedded.identity.clients import (
    Account,
    ClientKind,
    RegisteredClient,
    find_account,
    find_clients,
    tenants_of_account,
    tenants_of_client,
)
from chamberlain.embedded.identity.errors import AccessDenied, InvalidRequest, UnauthorizedClient
from chamberlain.embedded.identity.identity_platform import IdentityPlatform, LocalToken
from chamberlain.embedded.identity.request_body import FORM, content_type, read_body, read_form
from chamberlain.embedded.identity.scopes import Chosen, choose_application, choose_delegated
from chamberlain.embedded.identity.tokens import AccessToken, issue_for_application, issue_for_user

# A header of its own cannot be sent by a page in a browser without being asked for it first.
LOCAL_HEADER = "Local-Secret"

_Text = Annotated[str, Meta(min_length=1, max_length=4096, pattern=r"^[^\x00]*\Z")]


class _Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """`user` is an address, `client` a name or an id: the program itself, or the one that acts for the user."""

    scope: _Text
    user: _Text | None = None
    client: _Text | None = None
    tenant: UUID | None = None


async def give_local_token(platform: IdentityPlatform, request: Request) -> Response:
    """An access token for a user or a program, as asked for."""
    _require_local(platform, request)
    asked = await _read(request)
    if asked.user is not None:
        token = await _for_user(platform, asked, asked.user)
    elif asked.client is not None:
        token = await _for_application(platform, asked, asked.client)
    else:
        raise InvalidRequest("Send user, the address of somebody, or client, the name or id of a program.")
    return JSONResponse({"access_token": token.text, "expires_in": token.expires_in})


def _require_local(platform: IdentityPlatform, request: Request) -> None:
    if request.client is None or not _is_loopback(request.client.host):
        raise AccessDenied("Local tokens are given on this machine only, at its loopback address.")
    given = request.headers.get(LOCAL_HEADER, "")
    # An empty secret is none, and proves nothing to anybody.
    if not given or not hmac.compare_digest(given.encode(), platform.local_secret.encode()):
        raise AccessDenied(f"The header {LOCAL_HEADER} is missing or wrong. The service writes it at its start.")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


async def _read(request: Request) -> _Asked:
    try:
        if content_type(request) == FORM:
            return msgspec.convert(await read_form(request), _Asked)
        return msgspec.json.decode(await read_body(request), type=_Asked)
    except msgspec.MsgspecError as error:
        raise InvalidRequest(f"Send scope with user or client, as a form or as JSON: {error}.") from error


async def _for_user(platform: IdentityPlatform, asked: _Asked, address: str) -> AccessToken:
    if not platform.serves_people:
        raise AccessDenied("Other machines can reach this service, so the example users get no tokens here.")
    tenants = await tenants_of_account(platform.pool, address)
    account = await find_account(platform.pool, _one_tenant(tenants, asked, address), address)
    if account is None:
        raise InvalidRequest(f"Nobody with the address {address} is known here.")
    client = _public_client(await find_clients(platform.pool, account.tenant), asked.client)
    chosen = choose_delegated(client, asked.scope)
    token = await issue_for_user(platform, account, client, chosen)
    await _record(platform, account, client, chosen, token)
    return token


async def _for_application(platform: IdentityPlatform, asked: _Asked, name_or_id: str) -> AccessToken:
    tenants = await tenants_of_client(platform.pool, name_or_id)
    client = _named(await find_clients(platform.pool, _one_tenant(tenants, asked, name_or_id)), name_or_id)
    if client.kind is ClientKind.PUBLIC:
        raise UnauthorizedClient(
            f"The program {client.name} acts in a user's name only. Send user, an address, as well."
        )
    chosen = choose_application(client, asked.scope)
    token = await issue_for_application(platform, client, chosen)
    await _record(platform, None, client, chosen, token)
    return token


def _one_tenant(tenants: list[UUID], asked: _Asked, wanted: str) -> UUID:
    possible = [each for each in tenants if asked.tenant in (None, each)]
    if not possible:
        raise InvalidRequest(f"{wanted} is not known here.")
    if len(possible) > 1:
        listed = " or ".join(map(str, possible))
        raise InvalidRequest(f"{wanted} is known in several tenants. Send tenant as well: {listed}.")
    return possible[0]


def _named(clients: tuple[RegisteredClient, ...], name_or_id: str) -> RegisteredClient:
    for client in clients:
        if name_or_id == client.name or name_or_id.lower() == str(client.id):
            return client
    raise InvalidRequest(f"The program {name_or_id} is not known in this tenant.")


def _public_client(clients: tuple[RegisteredClient, ...], name_or_id: str | None) -> RegisteredClient:
    if name_or_id is not None:
        return _named(clients, name_or_id)
    public = [client for client in clients if client.kind is ClientKind.PUBLIC]
    if len(public) != 1:
        names = " or ".join(client.name for client in clients)
        raise InvalidRequest(f"Send client as well, the program that acts for the user: {names}.")
    return public[0]


async def _record(
    platform: IdentityPlatform, account: Account | None, client: RegisteredClient, chosen: Chosen, token: AccessToken
) -> None:
    await platform.on_local_token(
        LocalToken(
            tenant_id=client.tenant_id,
            user_id=None if account is None else account.id,
            client_id=client.id,
            display_name=client.name if account is None else account.display_name,
            resource=chosen.resource,
            names=chosen.names,
            expires_at=token.expires_at,
        )
    )
