"""What a configuration file says to the identity platform: the section `clients`, and who may sign in.

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

Accounts have no section of their own: whoever loads them takes them from where the people are. Secrets are not in the
file: they are made at the first start, and only their hashes are kept.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct, ValidationError, convert

from chamberlain.embedded.identity.redirects import may_be_registered

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
        if not may_be_registered(uri):
            raise EstateInvalid(
                f"The client {client.name} has {uri!r} in redirectUris. Write https addresses, or http with localhost, "
                "127.0.0.1 or [::1], without a fragment or a user."
            )
