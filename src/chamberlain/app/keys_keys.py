"""Keys that seal what is stored: what a look at them shows, and what was done with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chamberlain.auth.models import Actor
from chamberlain.changes.models import Change, Subject
from chamberlain.core.errors import Conflict, NotFound
from chamberlain.core.ids import TenantId, TraceId

if TYPE_CHECKING:
    from chamberlain.core.values import Json


@dataclass(frozen=True, slots=True)
class KeyUse:
    """A key by its id: whether the file has it, whether it is the one that seals, and how many stored secrets are
    sealed with it."""

    id: str
    is_there: bool
    seals: bool
    secrets: int


@dataclass(frozen=True, slots=True)
class Rotation:
    """What a rotation came to: the key that sealed until now, the one that does from now on, how many secrets were
    sealed anew, and how many do not open and were left as they are."""

    before: str
    after: str
    resealed: int
    left: int


def key_uses(ids: Sequence[str], counts: Mapping[str, int]) -> Sequence[KeyUse]:
    """The keys of a file in their order, and behind them those that something is sealed with and that it lacks."""
    there = [
        KeyUse(each, is_there=True, seals=place == 0, secrets=counts.get(each, 0)) for place, each in enumerate(ids)
    ]
    missing = sorted(counts.keys() - set(ids))
    return [*there, *(KeyUse(each, is_there=False, seals=False, secrets=counts[each]) for each in missing)]


def require_droppable(key_id: str, uses: Sequence[KeyUse]) -> None:
    """Raises NotFound for a key that the file does not have, and Conflict for one that is needed."""
    found = next((each for each in uses if each.id == key_id), None)
    if found is None or not found.is_there:
        raise key_unknown(key_id)
    if found.seals:
        detail = f'"{key_id}" is the key that seals. Run `chamberlain keys rotate` first.'
        raise Conflict("inUse", detail)
    if found.secrets:
        secrets = "1 stored secret is" if found.secrets == 1 else f"{found.secrets} stored secrets are"
        detail = f'{secrets} sealed with "{key_id}". Run `chamberlain keys rotate`, on every machine that has keys.'
        raise Conflict("inUse", detail)


def key_unknown(key_id: str) -> NotFound:
    """What somebody is told who names a key that the file does not have."""
    return NotFound(f'The keys file has no key "{key_id}". `chamberlain keys list` shows those that it has.')


def change_of_keys(
    tenant_id: TenantId, verb: str, key_id: str, *, actor: Actor, trace_id: TraceId, before: str | None
) -> Change:
    """The record of it for one tenant, whose secrets are sealed with them. Keys themselves are on no record."""
    after: Mapping[str, Json] | None = {"sealsWith": key_id} if verb == "rotate" else None
    return Change(
        tenant_id=tenant_id,
        action=f"keys.{verb}",
        actor=actor,
        client_id=None,
        subject=Subject("key", None, key_id),
        before=None if before is None else {"sealsWith": before},
        after=after,
        request_id=None,
        trace_id=trace_id,
    )
