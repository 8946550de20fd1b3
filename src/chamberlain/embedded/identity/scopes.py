# SPDX-License-Identifier: Apache-2.0
"""Scopes that a client requests and gets.

It gets all requested scopes or none, for one resource, and only with consent. A client that acts for users may also
request the scopes of OpenID Connect.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.embedded.identity.clients import RegisteredClient
from chamberlain.embedded.identity.errors import InvalidScope

# Requests all permissions of a resource.
_DEFAULT = ".default"

OPENID = "openid"
PROFILE = "profile"
EMAIL = "email"
OFFLINE_ACCESS = "offline_access"
# OpenID Connect Core, 5.4 and 11.
OPENID_SCOPES = (OPENID, PROFILE, EMAIL, OFFLINE_ACCESS)
# Stored with every code and token. A client with a hundred permissions needs far less.
LONGEST_SCOPE = 4096
# RFC 6749, 3.3.
_CHARACTERS = re.compile(r"[\x20\x21\x23-\x5b\x5d-\x7e]+")


@dataclass(frozen=True, slots=True)
class ResourceScopes:
    """Permissions of one resource; names are relative to it."""

    resource: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UserScopes:
    """Permissions of at most one resource, and OpenID scopes.

    `is_default` is True if the client requested all permissions of the resource by `.default`.
    """

    permissions: ResourceScopes | None
    openid: frozenset[str]
    is_default: bool

    @property
    def full_names(self) -> tuple[str, ...]:
        """Scopes for the response, by absolute names.

        Clients look their cached tokens up by them.
        """
        openid = tuple(name for name in OPENID_SCOPES if name in self.openid)
        if self.permissions is None:
            return openid
        names = (*self.permissions.names, _DEFAULT) if self.is_default else self.permissions.names
        return (*(f"{self.permissions.resource}/{name}" for name in names), *openid)


def application_scopes(client: RegisteredClient, scope: str) -> ResourceScopes:
    """Return the application permissions of a resource.

    A client always gets all of them.
    """
    resource = scope.removesuffix(f"/{_DEFAULT}")
    if resource == scope or resource not in client.application:
        allowed = [f"{each}/{_DEFAULT}" for each in client.application]
        raise InvalidScope(f"The application {client.name} can request one resource for itself. {_advice(allowed)}")
    return ResourceScopes(resource, client.application[resource])


def delegated_scopes(client: RegisteredClient, scope: str) -> ResourceScopes:
    """Return the requested delegated permissions."""
    requested: dict[str, set[str]] = {}
    for part in scope.split():
        resource, names = _find(client.delegated, part)
        if resource is None:
            allowed = [f"{each}/{name}" for each, all_names in client.delegated.items() for name in all_names]
            raise InvalidScope(f"The application {client.name} cannot request {part}. {_advice(allowed)}")
        requested.setdefault(resource, set()).update(names)
    if len(requested) != 1:
        resources = ", ".join(client.delegated)
        raise InvalidScope(f"A token is for one resource. Request permissions of one resource: {resources}.")
    resource, granted = requested.popitem()
    return ResourceScopes(resource, tuple(name for name in client.delegated[resource] if name in granted))


def user_scopes(client: RegisteredClient, scope: str) -> UserScopes:
    """Return the requested delegated permissions and OpenID scopes. Raises InvalidScope."""
    parts = scope.split()
    if not parts or len(scope) > LONGEST_SCOPE or not _CHARACTERS.fullmatch(scope):
        raise InvalidScope(f"Send scope: names separated by spaces, at most {LONGEST_SCOPE} characters.")
    openid = frozenset(parts).intersection(OPENID_SCOPES)
    names = [part for part in parts if part not in openid]
    permissions = delegated_scopes(client, " ".join(names)) if names else None
    return UserScopes(permissions, openid, any(name.endswith(f"/{_DEFAULT}") for name in names))


def _find(consents: Mapping[str, tuple[str, ...]], requested: str) -> tuple[str | None, tuple[str, ...]]:
    # The longest first: one resource may be a prefix of another.
    for resource in sorted(consents, key=len, reverse=True):
        name = requested.removeprefix(f"{resource}/")
        if name != requested and name == _DEFAULT:
            return resource, consents[resource]
        if name != requested and name in consents[resource]:
            return resource, (name,)
    return None, ()


def _advice(names: list[str]) -> str:
    return f"Request {' or '.join(names)}." if names else "It has no consented permissions."
