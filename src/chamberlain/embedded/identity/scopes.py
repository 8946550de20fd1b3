"""Which permissions a program gets of those it asks for: all or none, of one resource, and only what was consented."""

from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.embedded.identity.clients import RegisteredClient
from chamberlain.embedded.identity.errors import InvalidScope

# Stands for all that was consented for a resource.
_DEFAULT = ".default"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Permissions of one resource, named relative to it."""

    resource: str
    names: tuple[str, ...]


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
