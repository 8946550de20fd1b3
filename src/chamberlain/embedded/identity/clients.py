"""Programs and people as they are stored: found by tenant, never across."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated
from urllib.parse import SplitResult, urlsplit
from uuid import UUID

from asyncpg import Record
from msgspec import Meta, Struct, ValidationError, convert

from chamberlain.embedded.identity.database import Connection, Pool, transaction

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_PORT = re.compile(r":[0-9]*\Z")
# Visible ASCII without what browsers read in another way than we do: a backslash is a slash to them.
_URI_CHARACTERS = re.compile(r"[\x21\x23-\x5b\x5d\x5f\x61-\x7a\x7e]+")
_LONGEST_URI = 2048


def is_valid_redirect(uri: str) -> bool:
    """Whether an address can be sent to at all: https, or http on the same machine; without a fragment or a user."""
    parts = _split_uri(uri)
    return parts is not None and (parts.scheme == "https" or _is_loopback(parts))


def is_registered_redirect(registered: Sequence[str], uri: str) -> bool:
    """Whether an address that is asked for is one of the program's."""
    return is_valid_redirect(uri) and any(uri == each or _differ_in_port_only(each, uri) for each in registered)


def _differ_in_port_only(registered: str, uri: str) -> bool:
    known, wanted = _split_uri(registered), _split_uri(uri)
    if known is None or wanted is None or not _is_loopback(known) or not _is_loopback(wanted):
        return False
    # "http://localhost" and "http://localhost/" are one address (RFC 3986, 6.2.3); libraries write either.
    return (_host(known), known.path or "/", known.query) == (_host(wanted), wanted.path or "/", wanted.query)


def _is_loopback(parts: SplitResult) -> bool:
    return parts.scheme == "http" and _host(parts) in _LOOPBACK


def _host(parts: SplitResult) -> str:
    """As it is written: the library folds letter case, and takes `evil.example[::1]` for `::1`."""
    return _PORT.sub("", parts.netloc)


def _split_uri(uri: str) -> SplitResult | None:
    if len(uri) > _LONGEST_URI or not _URI_CHARACTERS.fullmatch(uri) or "#" in uri:
        return None
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError:
        return None
    # Whoever looks at how an address begins must not be told another thing than the library, which folds letter case.
    is_plain = uri.startswith(f"{parts.scheme}://") and "@" not in parts.netloc
    return parts if is_plain and parts.hostname and port != 0 else None


# An audience, which a token names in `aud`; permissions are named relative to it, so it never ends in a slash.
Resource = Annotated[str, Meta(pattern=r"^[^\s/]\S*[^\s/]\Z", max_length=512)]
# A permission of a resource. OAuth joins several by spaces (RFC 6749, 3.3), so there is none in a name.
PermissionName = Annotated[str, Meta(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]+\Z", max_length=256)]
Name = Annotated[str, Meta(pattern=r"\S", max_length=256)]
Permissions = Mapping[Resource, tuple[PermissionName, ...]]


class EstateInvalid(ValueError):
    """The section cannot be read; the sentence says where and why."""


class ClientKind(StrEnum):
    """Whether a program can keep a secret (RFC 6749, 2.1)."""

    PUBLIC = "public"
    CONFIDENTIAL = "confidential"


class Account(Struct, frozen=True, kw_only=True):
    """A person of one tenant who can sign in."""

    id: UUID
    tenant: UUID
    address: str
    display_name: str


class Client(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A program, known in each of the tenants: what it may ask for in a user's name, and what it may do by itself.

    Everything is consented: `delegated` for all users of the tenants, `application` by their administrators. A browser
    is sent back to `redirect_uris` alone; of a loopback address the port is free.
    """

    id: UUID
    tenants: Annotated[tuple[UUID, ...], Meta(min_length=1)]
    name: Name
    kind: ClientKind
    delegated: Permissions = {}
    application: Permissions = {}
    redirect_uris: tuple[str, ...] = ()


def read_clients(section: Sequence[Mapping[str, object]]) -> tuple[Client, ...]:
    """The section as values; raises EstateInvalid with the place and the reason."""
    try:
        clients = convert(section, tuple[Client, ...])
    except ValidationError as error:
        raise EstateInvalid(f"The section clients cannot be used: {error}") from error
    for client in clients:
        _require_redirects(client)
        # Nothing proves that a public client is itself, so it never acts in its own name (RFC 6749, 4.4).
        if client.kind is ClientKind.PUBLIC and client.application:
            raise EstateInvalid(f"The public client {client.name} cannot have application permissions. Remove them.")
    return clients


def _require_redirects(client: Client) -> None:
    for uri in client.redirect_uris:
        if not is_valid_redirect(uri):
            raise EstateInvalid(
                f"The client {client.name} has {uri!r} in redirectUris. Write https addresses, or http with localhost, "
                "127.0.0.1 or [::1], without a fragment or a user."
            )


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

_ACCOUNT_BY_ADDRESS = """
SELECT id, address, display_name FROM identity.accounts WHERE tenant_id = $1 AND lower(address) = lower($2)
"""

_ACCOUNT_BY_ID = "SELECT id, address, display_name FROM identity.accounts WHERE tenant_id = $1 AND id = $2"


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    """A program as one tenant knows it, with the names of its permissions by resource."""

    tenant_id: UUID
    id: UUID
    name: str
    kind: ClientKind
    secret_hash: str | None = field(repr=False)
    delegated: Mapping[str, tuple[str, ...]]
    application: Mapping[str, tuple[str, ...]]
    redirect_uris: tuple[str, ...]


async def find_clients(pool: Pool, tenant_id: UUID) -> tuple[RegisteredClient, ...]:
    """All programs of a tenant, by name; there are few of them. None at all: the tenant is not known."""
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


async def find_account(pool: Pool, tenant_id: UUID, address: str) -> Account | None:
    """The person with this address, in either letter case."""
    async with transaction(pool, tenant_id) as connection:
        return account_from_row(tenant_id, await connection.fetchrow(_ACCOUNT_BY_ADDRESS, tenant_id, address))


async def find_account_by_id(pool: Pool, tenant_id: UUID, account_id: UUID) -> Account | None:
    """The person with this id."""
    async with transaction(pool, tenant_id) as connection:
        return account_from_row(tenant_id, await connection.fetchrow(_ACCOUNT_BY_ID, tenant_id, account_id))


async def tenants_of_account(pool: Pool, address: str) -> list[UUID]:
    """The tenant that somebody with this address signs in to."""
    async with transaction(pool) as connection:
        return await _ids(connection, "SELECT * FROM identity.tenants_of_account($1)", address)


async def tenants_of_client(pool: Pool, name_or_id: str) -> list[UUID]:
    """The tenants that know a program of this name or id."""
    async with transaction(pool) as connection:
        return await _ids(connection, "SELECT * FROM identity.tenants_of_client($1)", name_or_id)


def account_from_row(tenant_id: UUID, row: Record | None) -> Account | None:
    if row is None:
        return None
    return Account(id=row["id"], tenant=tenant_id, address=row["address"], display_name=row["display_name"])


async def _ids(connection: Connection, statement: str, value: str) -> list[UUID]:
    return [row[0] for row in await connection.fetch(statement, value)]


def _by_resource(permissions: list[list[str]], wanted: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for kind, resource, name in permissions:
        if kind == wanted:
            found[resource] = (*found.get(resource, ()), name)
    return found
