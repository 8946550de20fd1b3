"""The adapter for the embedded directory: our words on one side, its words on the other."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID, uuid5

from chamberlain.batching import Batcher
from chamberlain.directory.port import Capabilities, Directory, Outcome, People, Work
from chamberlain.embedded.directory.entries import GroupEntry, Mark
from chamberlain.embedded.directory.errors import Unreachable
from chamberlain.embedded.directory.groups import Ensured, Groups, GroupShown
from chamberlain.embedded.directory.people import Card, Found, Question, Register
from chamberlain.rules.errors import Rejected, TryAgain
from chamberlain.rules.groups import GroupReference, MemberShipType, ObservedGroup, WantedGroup
from chamberlain.rules.ids import GroupId, UserId
from chamberlain.rules.people import PeopleAnswer, PeopleQuestion, Person
from chamberlain.rules.plans import Step

# Its database comes back within seconds or not at all.
_SOON = timedelta(seconds=2)

# A group that is made can be found in the next moment; one second is the shortest that Retry-After can say.
_CAPABILITIES = Capabilities(visible_after=timedelta(seconds=1))

# The member of the extension attribute that a group is found by; bootstrap makes Groups with it.
KEY_MEMBER = "requestId"


class EmbeddedPeople(People):
    """Answers questions about people. Those that are asked at the same time travel together."""

    def __init__(self, register: Register) -> None:
        self._register = register
        self._batcher: Batcher[PeopleQuestion, PeopleAnswer] = Batcher(self._answers)

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        """What of the question exists."""
        return await self._batcher.submit(question)

    async def _answers(self, questions: Sequence[PeopleQuestion]) -> Sequence[PeopleAnswer]:
        with _passing():
            found = await self._register.look_up(_merged(questions))
        people = {tenant: {UserId(card.id): _person(card) for card in one.people} for tenant, one in found.items()}
        return [_answer(one, people[one.tenant_id], found[one.tenant_id]) for one in questions]


class EmbeddedDirectory(Directory):
    """Makes groups in the embedded directory. All steps of a group happen at once, or none does."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    @property
    def capabilities(self) -> Capabilities:
        """What this directory can do."""
        return _CAPABILITIES

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """What the directory shows of each."""
        with _passing():
            shown = await self._groups.observe(
                [_mark(one.tenant_id, one.extension, one.request_id) for one in references]
            )
        return [None if one is None else _observed(one) for one in shown]

    async def ensure(self, works: Sequence[Work]) -> Sequence[Outcome]:
        """Bring each about; the same group asked for twice in one batch is one group."""
        wanted = [_entry(work.wanted) for work in works]
        unique = list({entry.mark: entry for entry in wanted}.values())
        with _passing():
            ensured = await self._groups.ensure(unique)
        by_mark = {entry.mark: one for entry, one in zip(unique, ensured, strict=True)}
        return [_outcome(work, by_mark[entry.mark]) for work, entry in zip(works, wanted, strict=True)]


def group_id_of(reference: GroupReference) -> GroupId:
    """The id that the group of a request gets when it is made: always the same, so that making it twice makes one.

    It begins as the request's id does, so that groups lie in the order of their requests; the rest is a digest of whose
    request it is (a version 8 UUID, RFC 9562).
    """
    digest = uuid5(reference.request_id, f"{reference.tenant_id}/{reference.extension}").bytes
    return GroupId(UUID(bytes=reference.request_id.bytes[:6] + bytes([digest[6] & 0x0F | 0x80]) + digest[7:]))


@contextmanager
def _passing() -> Iterator[None]:
    try:
        yield
    except Unreachable as error:
        raise TryAgain(_SOON, str(error)) from error


def _merged(questions: Sequence[PeopleQuestion]) -> Mapping[UUID, Question]:
    merged: dict[UUID, Question] = {}
    for one in questions:
        together = merged.setdefault(one.tenant_id, Question())
        together.users |= one.users
        together.labels |= one.labels
        together.addresses |= one.addresses
        if one.member is not None:
            together.memberships.update((one.member, group) for group in one.groups)
    return merged


def _person(card: Card) -> Person:
    names = {
        "displayName": card.display_name,
        "userPrincipalName": card.user_principal_name,
        "userType": card.user_type,
    }
    if card.mail is not None:
        names["mail"] = card.mail
    return Person(
        id=UserId(card.id),
        display_name=card.display_name,
        mail=card.mail,
        has_team_license=card.has_team_license,
        properties=names | card.properties,
    )


def _answer(question: PeopleQuestion, people: Mapping[UserId, Person], found: Found) -> PeopleAnswer:
    member = question.member
    return PeopleAnswer(
        people={user: people[user] for user in question.users if user in people},
        labels=question.labels & found.labels,
        taken_addresses=question.addresses & found.taken_addresses,
        member_of=frozenset(
            group for group in question.groups if member is not None and (member, group) in found.memberships
        ),
    )


def _mark(tenant_id: UUID, extension: str, request_id: UUID) -> Mark:
    return Mark(tenant_id, extension, str(request_id))


def _entry(wanted: WantedGroup) -> GroupEntry:
    reference = GroupReference(wanted.tenant_id, wanted.extension, wanted.request_id)
    is_public = wanted.member_ship_type is MemberShipType.PUBLIC
    is_dynamic = wanted.member_ship_type is MemberShipType.DYNAMIC
    return GroupEntry(
        mark=_mark(wanted.tenant_id, wanted.extension, wanted.request_id),
        id=group_id_of(reference),
        display_name=wanted.display_name,
        mail_nickname=wanted.mail_nickname,
        mail=wanted.mail,
        description=wanted.description,
        visibility="Public" if is_public else "Private",
        membership_rule=wanted.membership_rule if is_dynamic else None,
        label_id=wanted.label_id,
        owners=wanted.owners,
        members=() if is_dynamic else wanted.members,
        channels=wanted.channels,
        values={**wanted.marks, KEY_MEMBER: str(wanted.request_id)},
    )


def _observed(shown: GroupShown) -> ObservedGroup:
    return ObservedGroup(
        id=GroupId(shown.id),
        display_name=shown.display_name,
        mail=shown.mail,
        mail_nickname=shown.mail_nickname,
        owners=frozenset(map(UserId, shown.owners)),
        members=frozenset(map(UserId, shown.members)),
        label_id=shown.label_id,
        channels=None if shown.channels is None else tuple(shown.channels),
        marks=shown.values,
    )


def _outcome(work: Work, ensured: Ensured) -> Outcome:
    group = None if ensured.shown is None else _observed(ensured.shown)
    if ensured.fault is None:
        return Outcome(group=group, done=work.steps, fault=None)
    fault = Rejected(ensured.fault.code, ensured.fault.detail)
    # Nothing was written, but the people were looked at, and only one code says that some are missing.
    looked_at = Step.CHECK_PEOPLE in work.steps and fault.code != "userUnknown"
    return Outcome(group=group, done=(Step.CHECK_PEOPLE,) if looked_at else (), fault=fault)
