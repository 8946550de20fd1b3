# SPDX-License-Identifier: Apache-2.0
"""The settings of a tenant that administrators may change; the last administrator stays."""

from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.changes.models import Change, Subject
from chamberlain.core.errors import NotFound
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.directory.models import NamedPerson, PeopleAnswer, PeopleQuestion, Person, Relations
from chamberlain.directory.properties import DriftProperty, Treatment
from chamberlain.tenants.models import (
    Applicability,
    Tenant,
    TenantRecord,
    TenantSettings,
    changed,
    members_question,
    present,
    question_of,
    replaced,
    settings_faults,
)
from tests.auth.editor_values import EDITOR, NOW, TRACE

pytestmark = pytest.mark.pure

ADA, GONE, GIL = UserId(UUID(int=1)), UserId(UUID(int=2)), UserId(UUID(int=6))
STAFF, EMPTY, DISSOLVED, GUESTS = (GroupId(UUID(int=number)) for number in (3, 4, 5, 7))
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
# Ada is there, and Gil, who is a guest, and so are three groups: hers with both of them, one of guests, an empty one.
ANSWER = PeopleAnswer(
    people={
        ADA: Person(ADA, "Ada", None, has_team_license=True, properties={"userType": "Member"}),
        GIL: Person(GIL, "Gil", None, has_team_license=False, properties={"userType": "Guest"}),
    },
    known_groups=frozenset({STAFF, EMPTY, GUESTS}),
    relations=Relations(
        None, {STAFF: (NamedPerson(ADA, "Ada"), NamedPerson(GIL, "Gil")), EMPTY: (), GUESTS: (NamedPerson(GIL, "Gil"),)}
    ),
)
NOBODY = ("/administrators", "noAdministrator")


def settings(
    users: tuple[UserId, ...] = (ADA,), groups: tuple[GroupId, ...] = (), default_domain: str | None = None
) -> TenantSettings:
    return TenantSettings("Estate", default_domain, users, groups, repairs_drift=True, applicability=Applicability.WARN)


def faults_of(wanted: TenantSettings) -> list[tuple[str, str]]:
    """The faults of these settings, with all lookups done."""
    answer = answer_to(wanted)
    further = members_question(answer, TENANT.id)
    members = {} if further is None else {user: ANSWER.people[user] for user in further.users}
    return [(fault.pointer, fault.code) for fault in settings_faults(wanted, TENANT, answer, members)]


def answer_to(wanted: TenantSettings) -> PeopleAnswer:
    """The answer of a directory to these settings."""
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
        ((GIL,), (), [NOBODY]),
        ((), (GUESTS,), [NOBODY]),
        ((GIL,), (GUESTS, EMPTY), [NOBODY]),
        ((GIL, ADA), (GUESTS,), []),
        ((GIL,), (STAFF,), []),
    ],
)
def test_it_works_for_those_who_are_there(
    users: tuple[UserId, ...], groups: tuple[GroupId, ...], faults: list[tuple[str, str]]
) -> None:
    assert faults_of(settings(users, groups)) == faults


def test_it_asks_for_users_groups_and_their_members() -> None:
    question = question_of(settings((ADA,), (STAFF,)), TENANT.id)

    assert question.users == {ADA}
    assert question.named_groups == question.members_of == {STAFF}


def test_it_asks_who_the_members_are_when_the_users_will_not_do() -> None:
    with_ada, with_guests = answer_to(settings((ADA,), (STAFF,))), answer_to(settings((GIL,), (STAFF,)))

    further = members_question(with_guests, TENANT.id)

    assert members_question(with_ada, TENANT.id) is None
    assert members_question(answer_to(settings((), (EMPTY,))), TENANT.id) is None
    assert further == PeopleQuestion(TENANT.id, users=frozenset({ADA, GIL}))


def test_it_rejects_a_domain_of_others() -> None:
    wanted = settings(default_domain="other.example")

    assert faults_of(wanted) == [("/defaultDomain", "domainNotVerified")]


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


def test_the_record_of_a_change_has_what_changed() -> None:
    users = tuple(UserId(UUID(int=number)) for number in range(30, 10, -1))
    groups = tuple(GroupId(UUID(int=number)) for number in range(60, 40, -1))
    properties = {DriftProperty.MAILBOX_HIDDEN: Treatment.IGNORED, DriftProperty.GROUP_OWNERS: Treatment.OBSERVED}
    wanted = TenantSettings(
        "House",
        "old.example",
        users,
        groups,
        repairs_drift=True,
        applicability=Applicability.WARN,
        repair_properties=properties,
    )

    change = replaced(TENANT, changed(TENANT, wanted), EDITOR)

    assert change == Change(
        tenant_id=TENANT.id,
        action="tenant.replace",
        actor=EDITOR.actor,
        client_id=EDITOR.client_id,
        subject=Subject("tenant", TENANT.id, "House"),
        before={
            "name": "Estate",
            "defaultDomain": "estate.example",
            "administrators": {"users": [str(ADA)], "groups": []},
            "repair": {"drift": False, "properties": {}},
            "applicability": "refuse",
        },
        after={
            "name": "House",
            "defaultDomain": "old.example",
            "administrators": {
                "users": [str(UUID(int=number)) for number in range(11, 31)],
                "groups": [str(UUID(int=number)) for number in range(41, 61)],
            },
            "repair": {
                "drift": True,
                "properties": {"group.owners": "observed", "mailbox.hideFromGAL": "ignored"},
            },
            "applicability": "warn",
        },
        request_id=None,
        trace_id=TRACE,
        client_address="192.0.2.1",
    )
    assert change.after is not None
    repair = change.after["repair"]
    assert isinstance(repair, dict)
    assert isinstance(repair["properties"], dict)
    assert list(repair["properties"]) == ["group.owners", "mailbox.hideFromGAL"]


def test_what_stays_is_not_on_record() -> None:
    change = replaced(TENANT, replace(TENANT, applicability=Applicability.WARN), EDITOR)

    assert (change.before, change.after) == ({"applicability": "refuse"}, {"applicability": "warn"})


def test_a_tenant_is_there_or_it_is_not() -> None:
    record = TenantRecord(TENANT, (), NOW, NOW)

    assert present(record) is record
    assert record.etag == '"3"'
    with pytest.raises(NotFound) as caught:
        present(None)
    assert caught.value.code == "notFound"
