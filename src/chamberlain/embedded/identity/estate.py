"""The section `identity` of a tenant's configuration file: who may sign in, and which programs may ask for which permissions.

    identity:
      accounts:
        - {id: ada00000-0000-4000-8000-000000000001, address: ada@estate.example, displayName: Ada Achterberg}
      clients:
        - id: c11e0000-0000-4000-8000-000000000001
          name: chamberlain-cli
          kind: public
          delegated: {"https://api.estate.example": [collab/App.ReadWrite.All]}
        - id: c11e0000-0000-4000-8000-000000000002
          name: automation
          kind: confidential
          application: {"https://graph.estate.example": [Group.Read.All]}

Secrets are not in the file: they are made at the first start, and only their hashes are kept.
"""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

# An audience, which a token names in `aud`; permissions are named relative to it, so it never ends in a slash.
Resource = Annotated[str, Meta(pattern=r"^[^\s/][^\s]*[^\s/]$", max_length=512)]
# A permission of a resource. OAuth joins several by spaces (RFC 6749, 3.3), so there is none in a name.
PermissionName = Annotated[str, Meta(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]+$", max_length=256)]
Address = Annotated[str, Meta(pattern=r"^[^\s@]+@[^\s@]+$", max_length=320)]
Name = Annotated[str, Meta(min_length=1, max_length=256)]


class ClientKind(StrEnum):
    """Whether a program can keep a secret (RFC 6749, 2.1)."""

    PUBLIC = "public"
    CONFIDENTIAL = "confidential"


class Account(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A person who can sign in."""

    id: UUID
    address: Address
    display_name: Name


class Client(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A program: the permissions it may use for a user, and those it holds by itself, both by resource."""

    id: UUID
    name: Name
    kind: ClientKind
    delegated: dict[Resource, tuple[PermissionName, ...]] = {}
    application: dict[Resource, tuple[PermissionName, ...]] = {}


class Identity(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """All that the identity platform knows of one tenant."""

    accounts: tuple[Account, ...] = ()
    clients: tuple[Client, ...] = ()
