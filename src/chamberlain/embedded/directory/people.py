"""Who and what is known of tenants: users with their licences, labels, taken addresses, and who is in which group."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.database import Pool, answering


@dataclass(slots=True)
class Question:
    """What is asked about one tenant. `memberships` are pairs of a user and a group."""

    users: set[UUID] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    addresses: set[str] = field(default_factory=set)
    memberships: set[tuple[UUID, UUID]] = field(default_factory=set)


class Card(msgspec.Struct, frozen=True, rename="camel"):
    """A user, as far as others need to know."""

    id: UUID
    display_name: str
    mail: str | None
    user_principal_name: str
    user_type: str
    has_team_license: bool
    properties: dict[str, str]


@dataclass(frozen=True, slots=True)
class Found:
    """What of a question is there, in the spelling of the question."""

    people: Sequence[Card]
    labels: frozenset[str]
    taken_addresses: frozenset[str]
    memberships: frozenset[tuple[UUID, UUID]]


_cards = msgspec.json.Decoder(list[Card])

_LOOK_UP = """
SELECT tenant_id, people, known_labels, taken_addresses, found_members, found_groups
FROM directory.look_up($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""


class Register:
    """Answers questions about several tenants at once; each is answered by what its own tenant holds."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def look_up(self, questions: Mapping[UUID, Question]) -> Mapping[UUID, Found]:
        """The answer for each tenant, all of them in one call."""
        tenants = sorted(questions)
        asked = [questions[tenant] for tenant in tenants]
        labels = [_storable(question.labels) for question in asked]
        addresses = [_storable(question.addresses) for question in asked]
        pairs = [list(question.memberships) for question in asked]
        with answering():
            rows = await self._pool.fetch(
                _LOOK_UP,
                tenants,
                list(chain.from_iterable(question.users for question in asked)),
                _ends([len(question.users) for question in asked]),
                list(chain.from_iterable(labels)),
                _ends([len(several) for several in labels]),
                list(chain.from_iterable(addresses)),
                _ends([len(several) for several in addresses]),
                [member for several in pairs for member, _ in several],
                [group for several in pairs for _, group in several],
                _ends([len(several) for several in pairs]),
            )
        return {
            tenant_id: Found(
                _cards.decode(people),
                frozenset(labels),
                frozenset(addresses),
                frozenset(zip(members, groups, strict=True)),
            )
            for tenant_id, people, labels, addresses, members, groups in rows
        }


def _ends(lengths: Sequence[int]) -> list[int]:
    return list(accumulate(lengths))


def _storable(texts: Iterable[str]) -> Sequence[str]:
    """Those that the database can hold. The others are not in it, and asking for them would fail for everybody."""
    return [text for text in texts if "\x00" not in text and not _SURROGATE.search(text)]


_SURROGATE = re.compile("[\ud800-\udfff]")
