# SPDX-License-Identifier: Apache-2.0
"""The result of each check for an operator."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from chamberlain.app.doctor.checks import (
    judge_certificate,
    judge_clock,
    judge_connections,
    judge_issuer_clock,
    judge_keys,
    judge_overlaps,
    judge_queue,
    judge_space,
    judge_version,
)
from chamberlain.app.doctor.store import APPLICATION, WORKER, RoleRights, judge_role, judge_row_security
from chamberlain.core.health import HealthCheck, HealthState, fault, has_fault, healthy, warning
from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.database.migrate import MigrationState, judge_migrations
from chamberlain.queue.models import MOST_COUNTED
from chamberlain.webhooks.models import Reachability, WebhookTarget
from chamberlain.webhooks.rules import check_targets

pytestmark = pytest.mark.pure

OK, WARNING, FAULT = HealthState.OK, HealthState.WARNING, HealthState.FAULT
NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
DAY, HOUR, SECOND = timedelta(days=1), timedelta(hours=1), timedelta(seconds=1)


def test_it_works() -> None:
    assert has_fault([healthy("a", "Well."), fault("b", "Ill.", "Mend it.")])
    assert not has_fault([healthy("a", "Well."), warning("b", "Odd.", "Look.")])


@pytest.mark.parametrize(
    ("checkup", "state", "says"),
    [
        (judge_version(150_004), OK, "PostgreSQL 15.4 answers."),
        (judge_version(180_000), OK, "PostgreSQL 18.0"),
        (judge_version(140_011), FAULT, "PostgreSQL 14.11"),
        (judge_version(190_000), FAULT, "PostgreSQL 19.0"),
        (judge_clock(-4 * SECOND), OK, "4.0 seconds"),
        (judge_clock(6 * SECOND), WARNING, "6.0 seconds"),
        (judge_clock(-30 * SECOND), WARNING, "30.0 seconds"),
        (judge_clock(31 * SECOND), FAULT, "31.0 seconds"),
        (judge_issuer_clock("issuers", "It answers.", None), OK, "It answers. It does not tell the time."),
        (judge_issuer_clock("issuers", "It answers.", 30 * SECOND), OK, "differ by 30 seconds"),
        (judge_issuer_clock("issuers", "It answers.", -31 * SECOND), WARNING, "differ by 31 seconds"),
        (judge_issuer_clock("issuers", "It answers.", 61 * SECOND), FAULT, "differ by 61 seconds"),
        (judge_space("/data", 2**30), OK, "/data has 1.0 GiB left."),
        (judge_space("/data", 2**30 - 1), WARNING, "/data"),
        (judge_space("/data", 2**27 - 1), FAULT, "0.1 GiB"),
        (judge_connections(60, 100, needed=40), OK, "60 of 100"),
        (judge_connections(61, 100, needed=40), WARNING, "61 of 100"),
        (judge_connections(101, 100, needed=40), WARNING, "101 of 100"),
        (judge_keys({"k1"}, {"k1"}, file="/keys"), OK, "/keys has 1 key"),
        (judge_keys({"k1", "k2"}, set(), file="/keys"), OK, "2 keys"),
        (judge_keys({"k1"}, {"k0", "k1", "k3"}, file="/keys"), FAULT, '"k0", "k3"'),
        (judge_certificate(NOW + 31 * DAY, NOW), OK, "2026-12-22"),
        (judge_certificate(NOW + 30 * DAY, NOW), WARNING, "2026-12-21"),
        (judge_certificate(NOW, NOW), FAULT, "2026-11-21"),
        (judge_queue(0, timedelta(), is_stopped=False), OK, "No job is due."),
        (judge_queue(1, 120 * SECOND, is_stopped=False), OK, "1 job is due, the oldest for 120 seconds."),
        (judge_queue(2, 121 * SECOND, is_stopped=False), WARNING, "2 jobs are due"),
        (judge_queue(2, DAY, is_stopped=True), OK, "86400 seconds"),
        (judge_queue(MOST_COUNTED, DAY, is_stopped=True), OK, "10,000 jobs or more are due"),
        (judge_overlaps([], NOW), OK, "No webhook is between two secrets."),
        (judge_overlaps([NOW + HOUR, NOW + DAY], NOW), OK, "2 webhooks are signed with two secrets, until 2026-11-22T"),
        (judge_overlaps([NOW - 4 * HOUR], NOW), WARNING, "1 webhook is signed"),
        (judge_row_security([]), OK, "every table"),
        (judge_row_security(["a.b", "c.d"]), FAULT, "a.b, c.d"),
    ],
)
def test_it_says_how_it_stands(checkup: HealthCheck, state: HealthState, says: str) -> None:
    assert (checkup.state, checkup.cure is None) == (state, state is OK)
    assert says in checkup.seen


@pytest.mark.parametrize(
    ("checkups", "name"),
    [
        ([judge_version(150_004), judge_version(140_011)], "database"),
        ([judge_clock(SECOND), judge_clock(6 * SECOND), judge_clock(31 * SECOND)], "clock"),
        ([judge_space("/data", each) for each in (2**30, 2**29, 2**20)], "disk"),
        ([judge_connections(1, 100, needed=40), judge_connections(61, 100, needed=40)], "connections"),
        ([judge_keys({"k1"}, {"k1"}, file="/keys"), judge_keys(set(), {"k1"}, file="/keys")], "keys"),
        ([judge_certificate(NOW + each * DAY, NOW) for each in (31, 1, 0)], "certificate"),
        ([judge_queue(0, timedelta(), is_stopped=False), judge_queue(2, DAY, is_stopped=False)], "queue"),
        ([judge_overlaps([], NOW), judge_overlaps([NOW - 4 * HOUR], NOW)], "webhook secrets"),
        ([judge_row_security([]), judge_row_security(["a.b"])], "row-level security"),
        ([judge_issuer_clock("issuer X", "It answers.", each * SECOND) for each in (0, 31, 61)], "issuer X"),
    ],
)
def test_a_checkup_has_one_name_whatever_it_says(checkups: list[HealthCheck], name: str) -> None:
    assert {each.name for each in checkups} == {name}


def test_the_states_are_called_so_for_programs() -> None:
    assert [*HealthState] == ["ok", "warning", "fault"]


def test_missing_keys_are_named_in_order() -> None:
    names = [f"k{number}" for number in range(10, 60)]

    seen = judge_keys({"k1"}, set(names), file="/keys").seen

    assert ", ".join(f'"{name}"' for name in names) in seen


@pytest.mark.parametrize(
    ("state", "states", "says"),
    [
        (MigrationState(), [OK], "All files"),
        (MigrationState(unknown=("a/9",)), [OK], "1 are of a newer version"),
        (MigrationState(missing=("a/1", "a/2", "a/3", "a/4", "a/5")), [FAULT], "a/1, a/2, a/3 and 2 more"),
        (MigrationState(later=("a/7",)), [WARNING], "a/7"),
        (MigrationState(changed=("a/2",), missing=("a/3",), later=("a/7",)), [FAULT, FAULT, WARNING], "a/2"),
    ],
)
def test_it_says_how_migrations_stand(state: MigrationState, states: list[HealthState], says: str) -> None:
    found = judge_migrations(state, is_embedded=False)

    assert [each.state for each in found] == states
    assert says in found[0].seen


def test_migrations_of_the_embedded_database_are_run_by_the_service() -> None:
    (outside,) = judge_migrations(MigrationState(missing=("a/1",)), is_embedded=False)
    (embedded,) = judge_migrations(MigrationState(missing=("a/1",)), is_embedded=True)

    assert outside.cure == "Run `chamberlain migrate`."
    assert embedded.cure == "Start `chamberlain serve`, which runs them."


@pytest.mark.parametrize(
    ("role", "acts_as", "but", "states"),
    [
        (APPLICATION, {APPLICATION}, {}, [OK]),
        (APPLICATION, set(), {}, [FAULT]),
        (APPLICATION, {APPLICATION, WORKER}, {}, [FAULT]),
        (APPLICATION, {APPLICATION}, {"is_superuser": True}, [FAULT]),
        (APPLICATION, {APPLICATION}, {"passes_row_security": True}, [FAULT]),
        (APPLICATION, {APPLICATION}, {"owns_tables": True}, [FAULT]),
        (APPLICATION, {APPLICATION}, {"changes_audit": True}, [FAULT]),
        (APPLICATION, set(), {"is_superuser": True}, [FAULT, FAULT]),
        (WORKER, {WORKER}, {"changes_audit": True, "passes_row_security": True}, [OK]),
        (WORKER, {APPLICATION}, {}, [FAULT]),
        (WORKER, {WORKER}, {"owns_tables": True}, [WARNING]),
        (WORKER, {WORKER, APPLICATION}, {"is_superuser": True}, [WARNING]),
    ],
)
def test_it_says_what_a_role_may(role: str, acts_as: set[str], but: dict[str, bool], states: list[HealthState]) -> None:
    rights = {"is_superuser": False, "passes_row_security": False, "owns_tables": False, "changes_audit": False, **but}

    found = judge_role(role, RoleRights(name="somebody", acts_as=frozenset(acts_as), **rights))

    assert [each.state for each in found] == states
    assert all("somebody" in each.seen for each in found)


def target(
    name: str, *, active: bool = True, failing_since: datetime | None = None, disabled_reason: str | None = None
) -> WebhookTarget:
    ids = TenantId(UUID(int=1)), TemplateId(UUID(int=2))
    return WebhookTarget(*ids, name, f"https://{name}/?token=secret", active, failing_since, disabled_reason)


@pytest.mark.parametrize(
    ("targets", "reaches", "states", "says"),
    [
        ([], {}, [OK], "There is no active webhook."),
        ([target("a", active=False)], {}, [OK], "There is no active webhook."),
        ([target("a")], {"a": Reachability.YES}, [OK], "1 of 1"),
        (
            [target("a"), target("b")],
            {"a": Reachability.YES, "b": Reachability.NO_NAME},
            [FAULT, OK],
            "does not resolve",
        ),
        ([target("a")], {"a": Reachability.NOT_HTTPS}, [FAULT], "without https"),
        ([target("a")], {"a": Reachability.REFUSED}, [FAULT], "may not be called"),
        ([target("a", failing_since=NOW)], {"a": Reachability.YES}, [WARNING], "has failed since 2026-11-21T09:00:00Z"),
        ([target("a", disabled_reason="It is gone.")], {"a": Reachability.NO_NAME}, [WARNING], "disabled: It is gone."),
    ],
)
def test_it_says_whether_webhooks_can_be_called(
    targets: list[WebhookTarget], reaches: dict[str, Reachability], states: list[HealthState], says: str
) -> None:
    found = check_targets(targets, {target(name).url: reach for name, reach in reaches.items()})

    assert [each.state for each in found] == states
    assert says in found[0].seen
    assert not any("secret" in f"{each.seen}{each.cure}" for each in found)
