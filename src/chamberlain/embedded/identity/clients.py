# SPDX-License-Identifier: Apache-2.0
"""Clients and accounts: configuration, rows and redirect URIs.

The section `clients`:

    clients:
      - id: c11e0000-0000-4000-8000-000000000001
        tenants: [e57a7e00-0000-4000-8000-000000000001, e57a7e00-0000-4000-8000-000000000002]
        name: chamberlain-cli
        kind: public
        redirectUris: ["http://localhost"]
        delegated: {"https://api.estate.example": [collab/App.ReadWrite.All]}
      - id: c11e0000-0000-4000-8000-000000000002
        tenants: [e57a7e00-0000-4000-8000-000000000001]
        name: automation
        kind: confidential
        application: {"https://graph.estate.example": [Group.Read.All]}

The file contains no secrets. The first start creates them, and the database stores only their hashes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated
from urllib.parse import SplitResult, urlsplit
from uuid import UUID

from asyncpg import Record
from msgspec import Meta, Struct, ValidationError, convert

from chamberlain.embedded.identity.database import Pool, transaction
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# The audience of a token (`aud`). Permission names are relative to it, so it never ends in a slash.
Resource = Annotated[str, Meta(pattern=r"^[^\s/]\S*[^\s/]\Z", max_length=512)]
# OAuth separates scopes by spaces (RFC 6749, 3.3), so a name contains none.
PermissionName = Annotated[str, Meta(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]+\Z", max_length=256)]
Name = Annotated[str, Meta(pattern=r"\S", max_length=256)]
Permissions = Mapping[Resource, tuple[PermissionName, ...]]

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_PORT = re.compile(r":[0-9]*\Z")
# Visible ASCII without the characters that browsers interpret differently: they treat a backslash as a slash.
_URI_CHARACTERS = re.compile(r"[\x21\x23-\x5b\x5d\x5f\x61-\x7a\x7e]+")
_LONGEST_URI = 2048

_CLIENTS = """
SELECT client.id, client.name, client.kind, client.secret_hash, client.redirect_uris,
       coalesce(array_agg(ARRAY[permission.kind, permission.resource, permission.name]
                          ORDER BY permission.resource, permission.name)
                FILTER (WHERE permission.name IS NOT NULL), '{}') AS permissions
FROM identity.clients AS client
LEFT JOIN identity.permissions AS permission
       ON permission.tenant_id = client.tenant_id AND permission.client_id = client.id
WHERE client.tenant_id = $1
GROUP BY client.tenant_id, client.id
ORDER BY client.name
"""


class EstateInvalid(ValueError):
    """The section is invalid; the message contains place and reason."""


class ClientKind(StrEnum):
    """Whether a client can keep a secret (RFC 6749, 2.1)."""

    PUBLIC = "public"
    CONFIDENTIAL = "confidential"


class Account(Struct, frozen=True, kw_only=True):
    """A user of one tenant."""

    id: UUID
    tenant: UUID
    address: str
    display_name: str


class Client(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An OAuth client of the configuration file, with its permissions.

    All permissions have consent: `delegated` for all users of the tenants, `application` by an administrator.
    A browser returns only to one of `redirect_uris`. For loopback addresses, any port matches.
    """

    id: UUID
    tenants: Annotated[tuple[UUID, ...], Meta(min_length=1)]
    name: Name
    kind: ClientKind
    delegated: Permissions = {}
    application: Permissions = {}
    redirect_uris: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    """A stored client of one tenant, with its permission names by resource."""

    tenant_id: UUID
    id: UUID
    name: str
    kind: ClientKind
    secret_hash: str | None = field(repr=False)
    delegated: Mapping[str, tuple[str, ...]]
    application: Mapping[str, tuple[str, ...]]
    redirect_uris: tuple[str, ...]


def read_clients(section: Sequence[Mapping[str, object]]) -> tuple[Client, ...]:
    """Parse and validate the section. Raises EstateInvalid with place and reason."""
    try:
        clients = convert(section, tuple[Client, ...])
    except ValidationError as error:
        raise EstateInvalid(f"The section clients is invalid: {error}") from error
    for client in clients:
        for uri in client.redirect_uris:
            if not is_valid_redirect(uri):
                raise EstateInvalid(
                    f"The client {client.name} has {uri!r} in redirectUris. Use https URIs, or http with localhost, "
                    "127.0.0.1 or [::1], without fragment or user name."
                )
        # A public client cannot authenticate, so it never acts for itself (RFC 6749, 4.4).
        if client.kind is ClientKind.PUBLIC and client.application:
            raise EstateInvalid(f"The public client {client.name} cannot have application permissions. Remove them.")
    return clients


async def find_clients(pool: Pool, tenant_id: UUID) -> tuple[RegisteredClient, ...]:
    """Return all clients of a tenant, by name.

    The result is empty for an unknown tenant.
    """
    async with transaction(pool, tenant_id) as connection:
        rows = await connection.fetch(_CLIENTS, tenant_id)
    return tuple(
        RegisteredClient(
            tenant_id=tenant_id,
            id=row["id"],
            name=row["name"],
            kind=ClientKind(row["kind"]),
            secret_hash=row["secret_hash"],
            delegated=_by_resource(row["permissions"], "delegated"),
            application=_by_resource(row["permissions"], "application"),
            redirect_uris=tuple(row["redirect_uris"]),
        )
        for row in rows
    )


def client_by_id(clients: Iterable[RegisteredClient], client_id: str) -> RegisteredClient | None:
    """Return the client with this id, in either letter case."""
    return next((client for client in clients if str(client.id) == client_id.lower()), None)


async def find_account(pool: Pool, tenant_id: UUID, address: str) -> Account | None:
    """Return the account with this address, in either letter case."""
    async with transaction(pool, tenant_id) as connection:
        row = await connection.fetchrow(SQL["account_by_address"], tenant_id, address)
    return None if row is None else account_from_row(tenant_id, row)


async def find_account_by_id(pool: Pool, tenant_id: UUID, account_id: UUID) -> Account | None:
    """Return the account with this id."""
    async with transaction(pool, tenant_id) as connection:
        row = await connection.fetchrow(SQL["account_by_id"], tenant_id, account_id)
    return None if row is None else account_from_row(tenant_id, row)


def account_from_row(tenant_id: UUID, row: Record) -> Account:
    """Convert a row with `id`, `address` and `display_name`."""
    return Account(id=row["id"], tenant=tenant_id, address=row["address"], display_name=row["display_name"])


async def tenants_of_account(pool: Pool, address: str) -> list[UUID]:
    """Return the tenant of an address: a list of at most one."""
    async with transaction(pool) as connection:
        return [row[0] for row in await connection.fetch("SELECT * FROM identity.tenants_of_account($1)", address)]


async def tenants_of_client(pool: Pool, name_or_id: str) -> list[UUID]:
    """Return the tenants that have a client with this name or id."""
    async with transaction(pool) as connection:
        return [row[0] for row in await connection.fetch("SELECT * FROM identity.tenants_of_client($1)", name_or_id)]


def is_valid_redirect(uri: str) -> bool:
    """Check that a redirect URI can be registered.

    It has https, or http with a loopback address, and no fragment or user name.
    """
    parts = _split_uri(uri)
    return parts is not None and (parts.scheme == "https" or _is_loopback(parts))


def is_registered_redirect(registered: Sequence[str], uri: str) -> bool:
    """Compare a redirect URI with the registered ones (RFC 9700, 2.1).

    They must be equal. Only the port of a loopback address may differ: a native application listens on any free port
    (RFC 8252, 7.3).
    """
    return is_valid_redirect(uri) and any(uri == each or _differ_in_port_only(each, uri) for each in registered)


def _differ_in_port_only(registered: str, uri: str) -> bool:
    known, requested = _split_uri(registered), _split_uri(uri)
    if known is None or requested is None or not _is_loopback(known) or not _is_loopback(requested):
        return False
    # "http://localhost" and "http://localhost/" are equivalent (RFC 3986, 6.2.3); libraries send either.
    return (_host(known), known.path or "/", known.query) == (_host(requested), requested.path or "/", requested.query)


def _is_loopback(parts: SplitResult) -> bool:
    return parts.scheme == "http" and _host(parts) in _LOOPBACK


def _host(parts: SplitResult) -> str:
    """Return the host as written.

    urlsplit folds letter case, and reads `evil.example[::1]` as `::1`.
    """
    return _PORT.sub("", parts.netloc)


def _split_uri(uri: str) -> SplitResult | None:
    if len(uri) > _LONGEST_URI or not _URI_CHARACTERS.fullmatch(uri) or "#" in uri:
        return None
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError:
        return None
    # urlsplit folds the scheme. Code that compares the start of the URI must see the same scheme.
    is_plain = uri.startswith(f"{parts.scheme}://") and "@" not in parts.netloc
    return parts if is_plain and parts.hostname and port != 0 else None


def _by_resource(permissions: list[list[str]], kind: str) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for permission_kind, resource, name in permissions:
        if permission_kind == kind:
            names[resource] = (*names.get(resource, ()), name)
    return names
