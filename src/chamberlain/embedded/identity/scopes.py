"""Which permissions a program gets of those it asks for: all or none, of one resource, and only what was consented.

Beside them a program that acts for people may ask for what OpenID Connect knows: who they are, and tokens for later.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.embedded.identity.clients import RegisteredClient
from chamberlain.embedded.identity.errors import InvalidScope

# Stands for all that was consented for a resource.
_DEFAULT = ".default"

OPENID = "openid"
PROFILE = "profile"
EMAIL = "email"
OFFLINE_ACCESS = "offline_access"
# OpenID Connect Core, 5.4 and 11.
OPENID_SCOPES = (OPENID, PROFILE, EMAIL, OFFLINE_ACCESS)
# Kept with every code and token; far above what a program with a hundred permissions asks for.
LONGEST_SCOPE = 4096
# RFC 6749, 3.3.
_WRITTEN = re.compile(r"[\x20\x21\x23-\x5b\x5d-\x7e]+")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Permissions of one resource, named relative to it."""

    resource: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChosenForUser:
    """What a program gets in a user's name: permissions of one resource or of none, and OpenID's own scopes.

    `all_asked` says that it asked for all of the resource at once.
    """

    permissions: Chosen | None
    openid: frozenset[str]
    all_asked: bool

    @property
    def full_names(self) -> tuple[str, ...]:
        """What was given, as programs find it again in what they keep: permissions by their absolute names."""
        openid = tuple(name for name in OPENID_SCOPES if name in self.openid)
        if self.permissions is None:
            return openid
        names = (*self.permissions.names, _DEFAULT) if self.all_asked else self.permissions.names
        return (*(f"{self.permissions.resource}/{name}" for name in names), *openid)


def choose_application(client: RegisteredClient, scope: str) -> Chosen:
    """What a program may do by itself: always everything that was consented for the resource."""
    resource = scope.removesuffix(f"/{_DEFAULT}")
    if resource == scope or resource not in client.application:
        may = [f"{each}/{_DEFAULT}" for each in client.application]
        raise InvalidScope(f"The program {client.name} may ask for one resource by itself. {_ask_for(may)}")
    return Chosen(resource, client.application[resource])


def choose_delegated(client: RegisteredClient, scope: str) -> Chosen:
    """What a program may do in a user's name."""
    names_by_resource: dict[str, set[str]] = {}
    for part in scope.split():
        resource, names = _find(client.delegated, part)
        if resource is None:
            may = [f"{each}/{name}" for each, all_names in client.delegated.items() for name in all_names]
            raise InvalidScope(f"The program {client.name} may not ask for {part}. {_ask_for(may)}")
        names_by_resource.setdefault(resource, set()).update(names)
    if len(names_by_resource) != 1:
        resources = ", ".join(client.delegated)
        raise InvalidScope(f"A token is for one resource. Ask for permissions of one of them: {resources}.")
    resource, chosen = names_by_resource.popitem()
    return Chosen(resource, tuple(name for name in client.delegated[resource] if name in chosen))


def choose_for_user(client: RegisteredClient, scope: str) -> ChosenForUser:
    """What a program may do in a user's name, and what it may know of the user. Raises InvalidScope with the cure."""
    parts = scope.split()
    if not parts or len(scope) > LONGEST_SCOPE or not _WRITTEN.fullmatch(scope):
        raise InvalidScope(f"Send scope: names of permissions with spaces between, at most {LONGEST_SCOPE} letters.")
    openid = frozenset(parts).intersection(OPENID_SCOPES)
    wanted = [part for part in parts if part not in openid]
    permissions = choose_delegated(client, " ".join(wanted)) if wanted else None
    all_asked = any(part.endswith(f"/{_DEFAULT}") for part in wanted)
    return ChosenForUser(permissions, openid, all_asked)


def _find(consents: Mapping[str, tuple[str, ...]], wanted: str) -> tuple[str | None, tuple[str, ...]]:
    # The longest first: a resource may lie below another.
    for resource in sorted(consents, key=len, reverse=True):
        name = wanted.removeprefix(f"{resource}/")
        if name != wanted and name == _DEFAULT:
            return resource, consents[resource]
        if name != wanted and name in consents[resource]:
            return resource, (name,)
    return None, ()


def _ask_for(names: list[str]) -> str:
    return f"Ask for {' or '.join(names)}." if names else "Nothing was consented for it."
