# SPDX-License-Identifier: Apache-2.0
"""Tokens without a sign-in, for scripts with the local secret."""

import hmac
from collections.abc import Iterable
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
from chamberlain.embedded.identity.scopes import ResourceScopes, application_scopes, delegated_scopes
from chamberlain.embedded.identity.tokens import AccessToken, issue_for_application, issue_for_user

# Browsers send a custom header to another origin only after a preflight request.
LOCAL_HEADER = "Local-Secret"

_Text = Annotated[str, Meta(min_length=1, max_length=4096, pattern=r"^[^\x00]*\Z")]


class _TokenRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Body of a request.

    `user` is an address, `client` a name or id. Without `user` the token is for the client itself.
    """

    scope: _Text
    user: _Text | None = None
    client: _Text | None = None
    tenant: UUID | None = None


async def issue_local_token(platform: IdentityPlatform, request: Request) -> Response:
    """Issue an access token for a user or a client."""
    _require_local(platform, request)
    body = await _read(request)
    if body.user is not None:
        return await _issue_for_user(platform, body, body.user)
    if body.client is not None:
        return await _issue_for_application(platform, body, body.client)
    raise InvalidRequest("Send user, the address of a user, or client, the name or id of an application.")


def _require_local(platform: IdentityPlatform, request: Request) -> None:
    if request.client is None or not _is_loopback(request.client.host):
        raise AccessDenied("Local tokens are issued on this machine only, at its loopback address.")
    given = request.headers.get(LOCAL_HEADER, "")
    # An empty secret matches nothing, even if the configured one is empty.
    if not given or not hmac.compare_digest(given.encode(), platform.local_secret.encode()):
        raise AccessDenied(f"The header {LOCAL_HEADER} is missing or wrong. The service writes it at its start.")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


async def _read(request: Request) -> _TokenRequest:
    try:
        if content_type(request) == FORM:
            return msgspec.convert(await read_form(request), _TokenRequest)
        return msgspec.json.decode(await read_body(request), type=_TokenRequest)
    except msgspec.MsgspecError as error:
        raise InvalidRequest(f"Send scope with user or client, as a form or as JSON: {error}.") from error


async def _issue_for_user(platform: IdentityPlatform, body: _TokenRequest, address: str) -> Response:
    platform.require_users()
    tenants = await tenants_of_account(platform.pool, address)
    account = await find_account(platform.pool, _one_tenant(tenants, body, address), address)
    if account is None:
        raise InvalidRequest(f"No user has the address {address}.")
    client = _public_client(await find_clients(platform.pool, account.tenant), body.client)
    scopes = delegated_scopes(client, body.scope)
    token = await issue_for_user(platform, account, client, scopes)
    return await _respond(platform, client, scopes, token, account=account)


async def _issue_for_application(platform: IdentityPlatform, body: _TokenRequest, name_or_id: str) -> Response:
    tenants = await tenants_of_client(platform.pool, name_or_id)
    client = _named(await find_clients(platform.pool, _one_tenant(tenants, body, name_or_id)), name_or_id)
    if client.kind is ClientKind.PUBLIC:
        raise UnauthorizedClient(
            f"The application {client.name} acts only on behalf of a user. Send user, an address, as well."
        )
    scopes = application_scopes(client, body.scope)
    token = await issue_for_application(platform, client, scopes)
    return await _respond(platform, client, scopes, token, account=None)


def _one_tenant(tenants: list[UUID], body: _TokenRequest, name: str) -> UUID:
    possible = [each for each in tenants if body.tenant in (None, each)]
    if not possible:
        raise InvalidRequest(f"There is no {name}. Check the user, the client and the tenant.")
    if len(possible) > 1:
        listed = " or ".join(map(str, possible))
        raise InvalidRequest(f"{name} exists in several tenants. Send tenant as well: {listed}.")
    return possible[0]


def _named(clients: Iterable[RegisteredClient], name_or_id: str) -> RegisteredClient:
    for client in clients:
        if name_or_id == client.name or name_or_id.lower() == str(client.id):
            return client
    raise InvalidRequest(f"The application {name_or_id} is unknown in this tenant.")


def _public_client(clients: tuple[RegisteredClient, ...], name_or_id: str | None) -> RegisteredClient:
    if name_or_id is not None:
        return _named(clients, name_or_id)
    public = [client for client in clients if client.kind is ClientKind.PUBLIC]
    if len(public) != 1:
        names = " or ".join(client.name for client in clients)
        raise InvalidRequest(f"Send client as well, the application that acts for the user: {names}.")
    return public[0]


async def _respond(
    platform: IdentityPlatform,
    client: RegisteredClient,
    scopes: ResourceScopes,
    token: AccessToken,
    *,
    account: Account | None,
) -> Response:
    """Record the token on the audit trail, then return it."""
    await platform.on_local_token(
        LocalToken(
            tenant_id=client.tenant_id,
            user_id=None if account is None else account.id,
            client_id=client.id,
            display_name=client.name if account is None else account.display_name,
            resource=scopes.resource,
            names=scopes.names,
            expires_at=token.expires_at,
        )
    )
    return JSONResponse({"access_token": token.text, "expires_in": token.expires_in})
