"""What administrators may say of their tenant: nobody takes away the last of them."""

from uuid import UUID

import pytest

from chamberlain.rules.ids import GroupId, TenantId, UserId
from chamberlain.rules.people import NamedPerson, PeopleAnswer, Person, Relations
from chamberlain.rules.tenant_records import TenantSettings, changed, question_of, settings_faults
from chamberlain.rules.tenants import Applicability, Tenant

ADA, GONE = UserId(UUID(int=1)), UserId(UUID(int=2))
STAFF, EMPTY, DISSOLVED = GroupId(UUID(int=3)), GroupId(UUID(int=4)), GroupId(UUID(int=5))
TENANT = Tenant(
    id=TenantId(UUID(int=9)),
    revision=3,
    name="Estate",
    domains=("estate.example", "rooms.estate.example", "old.example"),
    administrator_users=frozenset({ADA}),
    administrator_groups=frozenset(),
    extension_prefix="chamberlain",
    suspended=False,
)
# Ada is there, and so are two groups, one of which has her for a member.
ANSWER = PeopleAnswer(
    people={ADA: Person(ADA, "Ada", None, has_team_license=True, properties={})},
    known_groups=frozenset({STAFF, EMPTY}),
    relations=Relations(None, {STAFF: (NamedPerson(ADA, "Ada"),), EMPTY: ()}),
)
NOBODY = ("/administrators", "noAdministrator")


def settings(
    users: tuple[UserId, ...] = (ADA,), groups: tuple[GroupId, ...] = (), default_domain: str | None = None
) -> TenantSettings:
    return TenantSettings("Estate", default_domain, users, groups, repairs_drift=True, applicability=Applicability.WARN)


def answer_to(wanted: TenantSettings) -> PeopleAnswer:
    """What a directory says of these settings."""
    members = ANSWER.relations.members
    return PeopleAnswer(
        people={user: person for user, person in ANSWER.people.items() if user in wanted.users},
        known_groups=ANSWER.known_groups & frozenset(wanted.groups),
        relations=Relations(None, {group: members.get(group, ()) for group in wanted.groups}),
    )


@pytest.mark.parametrize(
    ("users", "groups", "faults"),
    [
        ((ADA,), (), []),
        ((), (STAFF,), []),
        ((ADA,), (EMPTY,), []),
        ((ADA, GONE), (), [("/administrators/users/1", "userUnknown")]),
        ((), (), [NOBODY]),
        ((), (EMPTY,), [NOBODY]),
        ((GONE,), (), [("/administrators/users/0", "userUnknown"), NOBODY]),
        ((), (EMPTY, DISSOLVED), [("/administrators/groups/1", "groupUnknown"), NOBODY]),
        ((GONE,), (STAFF,), [("/administrators/users/0", "userUnknown")]),
    ],
)
def test_it_works_for_those_who_are_there(
    users: tuple[UserId, ...], groups: tuple[GroupId, ...], faults: list[tuple[str, str]]
) -> None:
    wanted = settings(users, groups)

    found = settings_faults(wanted, TENANT, answer_to(wanted))

    assert [(fault.pointer, fault.code) for fault in found] == faults


def test_it_asks_for_users_groups_and_their_members() -> None:
    question = question_of(settings((ADA,), (STAFF,)), TENANT.id)

    assert question.users == {ADA}
    assert question.named_groups == question.members_of == {STAFF}


def test_it_rejects_a_domain_of_others() -> None:
    wanted = settings(default_domain="other.example")

    assert [fault.pointer for fault in settings_faults(wanted, TENANT, answer_to(wanted))] == ["/defaultDomain"]


@pytest.mark.parametrize(
    ("default_domain", "domains"),
    [
        (None, ("estate.example", "rooms.estate.example", "old.example")),
        ("estate.example", ("estate.example", "rooms.estate.example", "old.example")),
        ("old.example", ("old.example", "estate.example", "rooms.estate.example")),
    ],
)
def test_the_default_domain_comes_first_and_the_others_keep_their_order(
    default_domain: str | None, domains: tuple[str, ...]
) -> None:
    after = changed(TENANT, settings((), (STAFF,), default_domain))

    assert after.domains == domains
    assert not after.administrator_users
    assert after.administrator_groups == {STAFF}
    assert (after.repairs_drift, after.applicability, after.limits) == (True, Applicability.WARN, TENANT.limits)
