# SPDX-License-Identifier: Apache-2.0
"""Row-level security: what belongs to one tenant does not exist for another, whatever a statement asks for."""

from datetime import UTC, datetime
from uuid import uuid4

import asyncpg
import pytest

from chamberlain.changes.records import append_events
from chamberlain.core.ids import EventId, RequestId
from chamberlain.requests.events import RequestSummary, approval_required
from chamberlain.requests.models import RequestKind, RequestState
from tests.databases import Databases
from tests.estates import ADA, CONFIDENTIAL_TEAM, ESTATE, OPERATOR, OTHER_HOUSE, Estate, caller_of, open_estate, rows
from tests.postgres import connected

# The parts of a table belong to the owner alone (test_delivery_weeks.py).
TABLES = """
SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'p') AND a.attname = 'tenant_id' AND c.relnamespace = 'chamberlain'::regnamespace
AND NOT c.relispartition ORDER BY 1
"""
SECRET = "INSERT INTO chamberlain.webhook_secret (tenant_id, template_id, sealed) VALUES ($1, $2, '')"

DELIVERY = """
INSERT INTO chamberlain.delivery (tenant_id, delivery_id, event_id, type, template_id, url, payload, trace_id)
VALUES ($1, gen_random_uuid(), gen_random_uuid(), 'group.created', gen_random_uuid(), '', '', '')
"""
STATE = "INSERT INTO chamberlain.webhook_state (tenant_id, template_id) VALUES ($1, $2)"

NOTICE = """
INSERT INTO chamberlain.notice (tenant_id, notice_id, kind, request_id, at)
VALUES ($1, gen_random_uuid(), 'failed', gen_random_uuid(), now())
"""

REPORT_LINE = """
INSERT INTO chamberlain.report_line (tenant_id, notice_id, what, rule, guest_id)
SELECT tenant_id, notice_id, 'reminder', 'expiry', gen_random_uuid() FROM chamberlain.notice WHERE tenant_id = $1
"""

SUBJECT = """
INSERT INTO chamberlain.subject (
    tenant_id, subject_id, type, display_name, name_key, is_team, member_ship_type, observed_at
) VALUES ($1, gen_random_uuid(), 'group', 'All staff', 'all staff', false, 0, now())
"""
METADATA = """
INSERT INTO chamberlain.group_metadata (tenant_id, subject_id, name, value, is_boolean)
VALUES ($1, gen_random_uuid(), 'costCentre', '4711', false)
"""
FINDING = """
INSERT INTO chamberlain.finding (
    tenant_id, finding_id, kind, state, source, subject_type, subject_id, subject_name, about, detail, first_seen_at,
    last_seen_at
) VALUES (
    $1, gen_random_uuid(), 'guestAgainstRule', 'open', 'assignment', 'group', gen_random_uuid(), 'All staff', '', '',
    now(), now()
)
"""
CHANGED = "INSERT INTO chamberlain.changed_object VALUES ($1, 'group', gen_random_uuid(), now())"
CLOCK = """
INSERT INTO chamberlain.policy_clock (
    tenant_id, subject_id, rule, guest_id, guest_name, policy_id, terms, action, started_at, round, is_acting
) VALUES ($1, gen_random_uuid(), 'expiry', gen_random_uuid(), '', gen_random_uuid(), '', 'remove', now(), 1, false)
"""

REPAIR = """
INSERT INTO chamberlain.drift_repair (tenant_id, subject_id, about, repairs, digest, found_at, has_given_up)
VALUES ($1, gen_random_uuid(), 'city', 1, '', now(), false)
"""

ADOPTION = """
INSERT INTO chamberlain.adoption (
    tenant_id, adoption_id, kind, template_id, template_revision, template_name, filter, state, total, created_by,
    trace_id, created_at, updated_at
) VALUES ($1, gen_random_uuid(), 'shared', gen_random_uuid(), 1, '', '{}', 'running', 1, '{}', '', now(), now())
"""
ADOPTION_ITEM = """
INSERT INTO chamberlain.adoption_item (tenant_id, adoption_id, object_id, request_id, display_name, mail, state)
VALUES ($1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '', '', 'pending')
"""
RELEASE = """
INSERT INTO chamberlain.release (
    tenant_id, release_id, types, state, total, created_by, trace_id, created_at, updated_at
) VALUES ($1, gen_random_uuid(), '{mailbox}', 'running', 1, '{}', '', now(), now())
"""
RELEASE_ITEM = """
INSERT INTO chamberlain.release_item (tenant_id, release_id, type, key, id, display_name, state)
VALUES ($1, gen_random_uuid(), 'mailbox', gen_random_uuid(), gen_random_uuid(), '', 'pending')
"""

CONNECTION = """
INSERT INTO chamberlain.connection (tenant_id, connection_id, adapter) VALUES ($1, gen_random_uuid(), 'embedded')
"""
ENDED_HOUR = (
    "INSERT INTO chamberlain.ended_hour (tenant_id, hour, kind, state, number) VALUES ($1, now(), 'team', 'failed', 1)"
)
PERMISSION_USE = """
INSERT INTO chamberlain.permission_use (tenant_id, caller_type, caller_id, permission, day)
VALUES ($1, 'user', gen_random_uuid(), '', now())
"""
CONSOLE_SESSION = """
INSERT INTO chamberlain.console_session (
    digest, tenant_id, user_id, browser, sealed, created_at, used_at, ends_at
) VALUES ('', $1, gen_random_uuid(), '', '', now(), now(), now())
"""
SUBSTITUTE = """
INSERT INTO chamberlain.substitute (tenant_id, user_id, substitute_id, until, created_at)
VALUES ($1, gen_random_uuid(), gen_random_uuid(), now() + interval '1 day', now())
"""
BUDGET = "SELECT chamberlain.take_budget_calls('calls', $1, 1, 1, 1, 1, 0, NULL)"
PEOPLE_SEARCH = """
INSERT INTO chamberlain.people_search (tenant_id, user_id, started_at, number) VALUES ($1, gen_random_uuid(), now(), 1)
"""
BOOKING_ANSWER = """
INSERT INTO chamberlain.booking_answer (
    tenant_id, resource_id, uid, recurrence, sequence, stamp, method, organizer, state
) VALUES ($1, gen_random_uuid(), 'x', '', 0, now(), 'REQUEST', 'vera@outside.example', 'done')
"""
BOOKING_MAIL = "INSERT INTO chamberlain.booking_mail (tenant_id, resource_id, uid) VALUES ($1, gen_random_uuid(), 1)"
BOOKING_LEASE = """
INSERT INTO chamberlain.booking_lease (tenant_id, resource_id, lease_id, lease_until)
VALUES ($1, gen_random_uuid(), gen_random_uuid(), now())
"""
QUESTION = """
INSERT INTO chamberlain.question (tenant_id, request_id, level, user_id, state, asked_at, seen)
VALUES ($1, gen_random_uuid(), 1, gen_random_uuid(), 'unreachable', now(), now())
"""
POSITION = "INSERT INTO chamberlain.conversation_position (tenant_id, position) VALUES ($1, '1')"
READY_HOUR = """
INSERT INTO chamberlain.ready_hour (tenant_id, hour, template_id, since, buckets, numbers)
VALUES ($1, now(), gen_random_uuid(), 'approval', '{1}', '{1}')
"""


@pytest.fixture
async def filled(databases: Databases) -> Estate:
    """Both tenants, with at least one row of the first in every table."""
    estate = await open_estate(databases)
    accepted = await estate.request("Apollo", key="k1")
    await estate.request("Secret", templateId=str(CONFIDENTIAL_TEAM))
    await estate.ask_mailbox({"name": "Info", "displayName": "Information", "alias": "desk"})
    summary = RequestSummary(
        RequestId(accepted.request_id), ESTATE, RequestKind.GROUP, RequestState.QUEUED, "Apollo", None, OPERATOR
    )
    event = approval_required(EventId(uuid4()), summary, level=1, approvers=(), now=datetime(2026, 11, 20, tzinfo=UTC))
    async with databases.worker.across_tenants() as tx:
        await append_events(tx, [event])
        await tx.execute("INSERT INTO chamberlain.issuer (tenant_id, issuer) VALUES ($1, 'https://issuer')", ESTATE)
        await tx.execute(SUBJECT, ESTATE)
        await tx.execute(METADATA, ESTATE)
        await tx.execute("INSERT INTO chamberlain.discovery (tenant_id) VALUES ($1)", ESTATE)
        await tx.execute(CHANGED, ESTATE)
        await tx.execute(FINDING, ESTATE)
        await tx.execute(CLOCK, ESTATE)
        await tx.execute("INSERT INTO chamberlain.drift_check (tenant_id) VALUES ($1)", ESTATE)
        await tx.execute(REPAIR, ESTATE)
        await tx.execute(ADOPTION, ESTATE)
        await tx.execute(ADOPTION_ITEM, ESTATE)
        await tx.execute(ENDED_HOUR, ESTATE)
        await tx.execute(READY_HOUR, ESTATE)
        await tx.execute(PERMISSION_USE, ESTATE)
        await tx.execute(CONSOLE_SESSION, ESTATE)
        await tx.execute(PEOPLE_SEARCH, ESTATE)
        await tx.execute(SUBSTITUTE, ESTATE)
        await tx.execute(BOOKING_ANSWER, ESTATE)
        await tx.execute(BOOKING_MAIL, ESTATE)
        await tx.execute(BOOKING_LEASE, ESTATE)
        await tx.execute(QUESTION, ESTATE)
        await tx.execute(POSITION, ESTATE)
        await tx.execute(BUDGET, ESTATE)
        await tx.execute(RELEASE, ESTATE)
        await tx.execute(CONNECTION, ESTATE)
        await tx.execute(RELEASE_ITEM, ESTATE)
        await tx.execute(SECRET, ESTATE, CONFIDENTIAL_TEAM)
        await tx.execute(NOTICE, ESTATE)
        await tx.execute(REPORT_LINE, ESTATE)
        await tx.execute(STATE, ESTATE, CONFIDENTIAL_TEAM)
        await tx.execute(DELIVERY, ESTATE)
        await tx.execute("SELECT chamberlain.seal_audit($1, 100)", ESTATE)
    return estate


async def tables(databases: Databases) -> list[str]:
    async with connected(databases.addresses.owner) as connection:
        return [row["name"] for row in await connection.fetch(TABLES)]


async def test_it_works(filled: Estate) -> None:
    names = await tables(filled.databases)

    for name in names:
        everything = await rows(filled.databases, f"SELECT FROM {name} WHERE tenant_id = $1", ESTATE)
        async with filled.databases.application.transaction(ESTATE) as tx:
            own = await tx.fetch(f"SELECT FROM {name}")
        assert len(own) == len(everything) > 0, name

    assert len(names) >= 13


async def test_another_tenant_sees_nothing_of_it_in_any_table(filled: Estate) -> None:
    for name in await tables(filled.databases):
        async with filled.databases.application.transaction(OTHER_HOUSE) as tx:
            found = await tx.fetch(f"SELECT FROM {name} WHERE tenant_id = $1", ESTATE)
        assert found == [], name


async def test_without_a_tenant_there_is_nothing_at_all_even_after_a_transaction_of_one(filled: Estate) -> None:
    for name in await tables(filled.databases):
        async with connected(filled.databases.addresses.application) as connection:
            before = await connection.fetch(f"SELECT FROM {name}")
            async with connection.transaction():
                await connection.execute("SELECT set_config('chamberlain.tenant_id', $1, true)", str(ESTATE))
            after = await connection.fetch(f"SELECT FROM {name}")
        assert (before, after) == ([], []), name


async def test_another_tenant_can_change_nothing_of_it(filled: Estate) -> None:
    before = await filled.counts()

    async with filled.databases.application.transaction(OTHER_HOUSE) as tx:
        await tx.execute("UPDATE chamberlain.request SET state = 'cancelled'")
        await tx.execute("UPDATE chamberlain.job SET held_reason = 'mine'")
        await tx.execute("DELETE FROM chamberlain.reservation")
        await tx.execute("DELETE FROM chamberlain.idempotency_key")
        await tx.execute("DELETE FROM chamberlain.job")

    assert await filled.counts() == before
    states = await filled.rows("SELECT DISTINCT state FROM chamberlain.request")
    assert "cancelled" not in {state for (state,) in states}
    assert await filled.rows("SELECT DISTINCT held_reason FROM chamberlain.job") == [(None,)]


async def test_it_rejects_a_row_for_another_tenant(filled: Estate) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
        async with filled.databases.application.transaction(OTHER_HOUSE) as tx:
            await tx.execute(
                "INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id) "
                "VALUES ($1, 'address', 'x', $1)",
                ESTATE,
            )


@pytest.mark.parametrize("table", ["audit", "event"])
@pytest.mark.parametrize("change", ["UPDATE {} SET request_id = NULL", "DELETE FROM {}", "TRUNCATE {}"])
async def test_it_rejects_changes_of_what_only_grows(filled: Estate, table: str, change: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied"):
        async with filled.databases.application.transaction(ESTATE) as tx:
            await tx.execute(change.format(f"chamberlain.{table}"))


async def test_the_same_caller_id_in_another_tenant_is_somebody_else(filled: Estate) -> None:
    async with filled.databases.application.transaction(OTHER_HOUSE) as tx:
        found = await tx.fetch("SELECT FROM chamberlain.request WHERE actor_id = $1", caller_of(ADA).id)

    assert found == []
