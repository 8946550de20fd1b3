# SPDX-License-Identifier: Apache-2.0
"""The permissions of all callers: the table of the API description, repeated as a reader sees it."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.auth.models import ActorType, Caller
from chamberlain.auth.permissions import (
    PERMISSION_WORDS,
    Allowance,
    Extent,
    Operation,
    ScopePrefixes,
    is_for_any_token,
    require,
)
from chamberlain.core.errors import Forbidden
from chamberlain.core.ids import ClientId, TenantId

pytestmark = pytest.mark.pure

MAIN = "https://api.example"
INSIDERS = "https://insiders.example"
GRAPH = "https://graph.example"
PREFIXES = ScopePrefixes(MAIN, INSIDERS, GRAPH)

COLLAB = f"{INSIDERS}/collab/App.ReadWrite.All"
COLLAB_MAIN = f"{MAIN}/collab/App.ReadWrite.All"
MAIL = f"{MAIN}/mail/App.ReadWrite.All"
CONFIG = f"{MAIN}/admin/Config.ReadWrite.All"
MAIL_MANAGE = f"{MAIN}/admin/Mail.Manage.ReadWrite.All"
MAIL_CONFIG = f"{MAIN}/admin/Mail.Config.ReadWrite.All"
COLLAB_MANAGE = f"{MAIN}/admin/Collab.Manage.ReadWrite.All"
COLLAB_CONFIG = f"{MAIN}/admin/Collab.Config.ReadWrite.All"
PEOPLE = f"{MAIN}/directory/People.ReadWrite.All"
REPLIES = f"{MAIN}/requests/Replies.ReadWrite.All"
DIRECTORY = {f"{GRAPH}/Group.Read.All", f"{GRAPH}/Group.ReadWrite.All", f"{GRAPH}/Directory.Read.All"}
EITHER_COLLAB = {COLLAB, COLLAB_MAIN}
MANAGE_AND_CONFIG = {MAIL_MANAGE, MAIL_CONFIG, COLLAB_MANAGE, COLLAB_CONFIG}

TABLE: dict[Operation, tuple[set[str], set[str] | None]] = {
    Operation.CREATE_GROUP: (EITHER_COLLAB, None),
    Operation.CREATE_MAILBOX: ({MAIL}, {MAIL_MANAGE, MAIL_CONFIG}),
    Operation.ASSIGN: ({CONFIG}, {COLLAB_MANAGE, COLLAB_CONFIG}),
    Operation.READ_MANAGED: ({CONFIG}, {COLLAB_MANAGE, COLLAB_CONFIG}),
    Operation.ADMINISTER_COLLAB: ({CONFIG}, {COLLAB_CONFIG}),
    Operation.ADMINISTER_MAIL: ({CONFIG}, {MAIL_CONFIG}),
    Operation.ADMINISTER_SERVICE: ({CONFIG}, {COLLAB_CONFIG, MAIL_CONFIG}),
    Operation.READ_MAILBOXES: ({MAIL, CONFIG}, {MAIL_MANAGE, MAIL_CONFIG}),
    Operation.READ_REQUESTS: (EITHER_COLLAB | {MAIL, CONFIG}, MANAGE_AND_CONFIG),
    Operation.CANCEL_OR_RETRY_REQUEST: (EITHER_COLLAB | {MAIL, CONFIG}, MANAGE_AND_CONFIG),
    Operation.DECIDE_REQUEST: (EITHER_COLLAB | {MAIL, CONFIG}, None),
    Operation.NAME_APPROVERS: ({CONFIG}, None),
    Operation.READ_MAILBOX_TEMPLATES: ({MAIL, CONFIG}, {MAIL_MANAGE, MAIL_CONFIG}),
    Operation.READ_COLLAB_TEMPLATES: (EITHER_COLLAB | {CONFIG}, None),
    Operation.CONFIRM_FINDING: (EITHER_COLLAB | {CONFIG}, {COLLAB_CONFIG, MAIL_CONFIG}),
    Operation.READ_DIRECTORY_GROUPS: (DIRECTORY, DIRECTORY),
    Operation.MANAGE_PEOPLE: (set(), {PEOPLE}),
    Operation.REPLY_BY_MAIL: (set(), {REPLIES}),
    Operation.SET_FAULTS: ({CONFIG}, {PEOPLE}),
    Operation.FIND_PEOPLE: (EITHER_COLLAB | {MAIL, CONFIG}, None),
}
# Operations that need a token and no permission.
OF_ANY_TOKEN = {Operation.READ_ME}
EVERY_NAME = sorted(
    {name for delegated, application in TABLE.values() for name in delegated | (application or set())}
    | {f"{INSIDERS}/mail/App.ReadWrite.All", f"{INSIDERS}/admin/Config.ReadWrite.All", f"{MAIN}/Group.Read.All"}
)


def a_caller(caller_type: ActorType, *permissions: str) -> Caller:
    return Caller(
        tenant_id=TenantId(UUID(int=1)),
        type=caller_type,
        id=UUID(int=2),
        client_id=ClientId("client"),
        permissions=frozenset(permissions),
        expires_at=datetime(2026, 11, 20, tzinfo=UTC),
    )


def a_user(*permissions: str) -> Caller:
    return a_caller(ActorType.USER, *permissions)


def an_application(*permissions: str) -> Caller:
    return a_caller(ActorType.APPLICATION, *permissions)


def code_of(caller: Caller, operation: Operation) -> str | None:
    try:
        require(caller, operation, PREFIXES)
    except Forbidden as forbidden:
        return forbidden.code
    return None


def test_it_works() -> None:
    assert require(a_user(COLLAB), Operation.CREATE_GROUP, PREFIXES) == Allowance(Extent.ALL, None)


def test_the_table_has_every_operation() -> None:
    assert set(TABLE) | OF_ANY_TOKEN == set(Operation)


@pytest.mark.parametrize("operation", TABLE)
@pytest.mark.parametrize("name", EVERY_NAME)
def test_each_permission_alone_gives_a_user_what_the_table_says(operation: Operation, name: str) -> None:
    delegated, _ = TABLE[operation]

    expected = None if name in delegated else "insufficientScope"
    assert code_of(a_user(name), operation) == expected


@pytest.mark.parametrize("operation", TABLE)
@pytest.mark.parametrize("name", EVERY_NAME)
def test_each_permission_alone_gives_an_application_what_the_table_says(operation: Operation, name: str) -> None:
    _, application = TABLE[operation]

    if application is None:
        expected: str | None = "applicationNotSupported"
    else:
        expected = None if name in application else "insufficientScope"
    assert code_of(an_application(name), operation) == expected


@pytest.mark.parametrize("operation", TABLE)
def test_it_rejects_nobody_without_naming_all_that_would_do(operation: Operation) -> None:
    delegated, _ = TABLE[operation]

    with pytest.raises(Forbidden) as refused:
        require(a_user(), operation, PREFIXES)

    assert set(refused.value.sufficient) == delegated
    assert len(refused.value.sufficient) == len(delegated)
    assert all(name in refused.value.detail for name in delegated)


@pytest.mark.parametrize("operation", OF_ANY_TOKEN)
def test_a_token_without_permissions_is_enough_for_the_caller(operation: Operation) -> None:
    for caller in (a_user(), an_application(), a_user(MAIL)):
        assert require(caller, operation, PREFIXES) == Allowance(Extent.OWN, None)
    assert is_for_any_token(operation)
    assert not any(is_for_any_token(each) for each in TABLE)


def test_it_names_the_prefix_of_the_description_first() -> None:
    with pytest.raises(Forbidden) as refused:
        require(a_user(), Operation.CREATE_GROUP, PREFIXES)

    assert refused.value.sufficient == (COLLAB, COLLAB_MAIN)


def test_it_handles_both_prefixes_being_one() -> None:
    one = ScopePrefixes(MAIN, MAIN)

    with pytest.raises(Forbidden) as refused:
        require(a_user(COLLAB), Operation.CREATE_GROUP, one)

    assert refused.value.sufficient == (COLLAB_MAIN,)


def test_it_handles_a_directory_that_is_not_ours() -> None:
    with pytest.raises(Forbidden) as refused:
        require(a_user("None/Group.Read.All"), Operation.READ_DIRECTORY_GROUPS, ScopePrefixes(MAIN, MAIN))

    assert refused.value.sufficient == ()


@pytest.mark.parametrize(
    ("operation", "held", "plain", "for_administrator"),
    [
        (Operation.ASSIGN, (CONFIG,), None, Extent.ALL),
        (Operation.ADMINISTER_COLLAB, (CONFIG,), None, Extent.ALL),
        (Operation.ADMINISTER_MAIL, (CONFIG,), None, Extent.ALL),
        (Operation.ADMINISTER_SERVICE, (CONFIG,), None, Extent.ALL),
        (Operation.NAME_APPROVERS, (CONFIG,), None, Extent.ALL),
        (Operation.READ_MAILBOXES, (MAIL,), Extent.OWN, None),
        (Operation.READ_MAILBOXES, (CONFIG,), None, Extent.ALL),
        (Operation.READ_MAILBOXES, (MAIL, CONFIG), Extent.OWN, Extent.ALL),
        (Operation.READ_REQUESTS, (COLLAB,), Extent.OWN, None),
        (Operation.READ_REQUESTS, (COLLAB, CONFIG), Extent.OWN, Extent.ALL),
        (Operation.CANCEL_OR_RETRY_REQUEST, (MAIL,), Extent.OWN, None),
        (Operation.DECIDE_REQUEST, (CONFIG,), None, Extent.OWN),
        (Operation.DECIDE_REQUEST, (COLLAB, CONFIG), Extent.OWN, Extent.OWN),
        (Operation.READ_COLLAB_TEMPLATES, (COLLAB, CONFIG), Extent.ALL, Extent.ALL),
        (Operation.CONFIRM_FINDING, (COLLAB,), Extent.OWN, None),
        (Operation.CONFIRM_FINDING, (CONFIG,), None, Extent.ALL),
        (Operation.READ_DIRECTORY_GROUPS, (f"{GRAPH}/Group.Read.All",), Extent.ALL, None),
    ],
)
def test_it_says_how_far_a_user_may_go(
    operation: Operation, held: tuple[str, ...], plain: Extent | None, for_administrator: Extent | None
) -> None:
    allowance = require(a_user(*held, "https://other.example/admin/Config.ReadWrite.All"), operation, PREFIXES)

    assert allowance == Allowance(plain, for_administrator)
    assert allowance.asks_for_administrator == (for_administrator is not None)


@pytest.mark.parametrize(
    ("operation", "held", "plain"),
    [
        (Operation.READ_MAILBOXES, MAIL_MANAGE, Extent.ALL),
        (Operation.READ_REQUESTS, COLLAB_MANAGE, Extent.OWN),
        (Operation.CANCEL_OR_RETRY_REQUEST, MAIL_CONFIG, Extent.OWN),
        (Operation.ASSIGN, COLLAB_CONFIG, Extent.ALL),
        (Operation.CONFIRM_FINDING, MAIL_CONFIG, Extent.ALL),
    ],
)
def test_it_says_how_far_an_application_may_go(operation: Operation, held: str, plain: Extent) -> None:
    assert require(an_application(held), operation, PREFIXES) == Allowance(plain, None)


def test_it_rejects_configuring_by_one_who_is_no_administrator() -> None:
    allowance = require(a_user(CONFIG), Operation.ADMINISTER_COLLAB, PREFIXES)

    with pytest.raises(Forbidden) as refused:
        allowance.extent(is_administrator=False)

    assert refused.value.code == "notAdministrator"
    assert allowance.extent(is_administrator=True) is Extent.ALL


def test_it_handles_one_who_is_no_administrator_but_has_another_permission() -> None:
    allowance = require(a_user(MAIL, CONFIG), Operation.READ_MAILBOXES, PREFIXES)

    assert allowance.extent(is_administrator=False) is Extent.OWN
    assert allowance.extent(is_administrator=True) is Extent.ALL


def test_being_an_administrator_gives_nothing_by_itself() -> None:
    allowance = require(a_user(MAIL), Operation.READ_MAILBOXES, PREFIXES)

    assert allowance.extent(is_administrator=True) is Extent.OWN


def test_users_read_in_words_what_they_allow() -> None:
    names = {
        name.removeprefix(f"{place}/") for name in (*DIRECTORY, COLLAB_MAIN, MAIL, CONFIG) for place in (MAIN, GRAPH)
    }

    assert {name for name in names if "://" not in name} <= PERMISSION_WORDS.keys()
    assert not [words for words in PERMISSION_WORDS.values() if words.endswith(".") or not words[0].isupper()]
