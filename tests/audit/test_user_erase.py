# SPDX-License-Identifier: Apache-2.0
"""A user is erased: their data is emptied everywhere, and the audit trail still verifies."""

from datetime import timedelta

import msgspec
import pytest

from chamberlain.audit import store as audit_store
from chamberlain.audit.erasure import Erasure, UserEraser
from chamberlain.audit.models import AuditFilter
from chamberlain.audit.rules import FaultKind, digest_of_sequences
from chamberlain.auth.models import Actor, ActorType
from chamberlain.core.errors import NotFound
from chamberlain.core.ids import TenantId, TraceId, UserId
from chamberlain.core.paging import PageWanted
from chamberlain.requests.models import RequestState
from chamberlain.substitutes import records as substitute_records
from chamberlain.substitutes.models import Substitution
from chamberlain.tenant_admin import store as tenant_admin_store
from tests.audit.audit_fixture import AuditFixture, change, record, seal, tamper
from tests.databases import accept_unreadable
from tests.estates import (
    ADA,
    BEN,
    CLEO,
    CONFIDENTIAL_TEAM,
    DARA,
    ESTATE,
    OTHER_HOUSE,
    ZOE,
    Estate,
    caller_of,
    mail_caller_of,
)
from tests.requests.request_services import put

OPERATOR = Actor(ActorType.SYSTEM, None, "Command line")
ERASURE = TraceId("e0" * 16)


async def erase(
    estate: Estate, user: UserId, tenant_id: TenantId | None = ESTATE, *, trace_id: TraceId = ERASURE
) -> list[Erasure]:
    """As an operator does."""
    return list(await UserEraser(estate.databases.worker).erase(user, tenant_id, actor=OPERATOR, trace_id=trace_id))


async def said(estate: Estate) -> str:
    """All that every row of every table of ours says, whichever tables there are."""
    async with estate.databases.worker.across_tenants() as tx:
        tables = [str(row["name"]) for row in await tx.fetch(tenant_admin_store.TABLES, [])]
    texts = [
        str(text)
        for table in tables
        if table.startswith("chamberlain.")
        for (text,) in await estate.rows(f"SELECT row_to_json(r)::text FROM {table} r")  # noqa: S608 - from the catalog.
    ]
    return "\n".join(texts)


async def test_it_works(estate: Estate) -> None:
    await record(
        estate.databases, change(actor=BEN), change(actor=ADA, after={"owners": [str(BEN)]}), change(actor=ADA)
    )
    await seal(estate.databases)

    (erasure,) = await erase(estate, BEN)

    assert erasure.audit_rows == 2
    async with estate.databases.application.transaction(ESTATE) as tx:
        rows = (await audit_store.find_page(tx, AuditFilter(), PageWanted(4, None))).items
    assert [(row.action, row.is_erased, row.subject is None) for row in rows] == [
        ("user.erase", False, False),
        ("template.replace", False, False),
        ("template.replace", True, True),
        ("template.replace", True, True),
    ]
    assert rows[0].actor == OPERATOR
    assert rows[0].subject is not None
    assert (rows[0].subject.type, rows[0].subject.id, rows[0].trace_id) == ("user", BEN, ERASURE)
    assert msgspec.json.decode(rows[0].after or b"")["auditRows"] == 2


@pytest.mark.parametrize("sealed_first", [True, False])
async def test_the_address_goes_with_what_names_the_user(estate: Estate, *, sealed_first: bool) -> None:
    await record(
        estate.databases,
        change(actor=BEN, client_address="192.0.2.7"),
        change(actor=ADA, after={"owners": [str(BEN)]}, client_address="192.0.2.8"),
        change(actor=ADA, client_address="192.0.2.9"),
    )
    if sealed_first:
        await seal(estate.databases)

    await erase(estate, BEN)
    await seal(estate.databases)

    async with estate.databases.application.transaction(ESTATE) as tx:
        found = (await audit_store.find_page(tx, AuditFilter(), PageWanted(4, None))).items
    assert [(row.is_erased, row.client_address) for row in found] == [
        (False, None),
        (False, "192.0.2.9"),
        (True, None),
        (True, None),
    ]
    everything = await said(estate)
    assert "192.0.2.7" not in everything
    assert "192.0.2.8" not in everything
    assert (await AuditFixture(estate.databases).verify()).faults == 0


@pytest.mark.parametrize("sealed_first", [True, False])
async def test_an_erased_row_is_reported_as_erased_and_is_no_fault(estate: Estate, *, sealed_first: bool) -> None:
    await record(estate.databases, change(actor=BEN), change(actor=ADA), change(actor=BEN))
    if sealed_first:
        await seal(estate.databases)

    await erase(estate, BEN)
    await seal(estate.databases)

    verdict = await AuditFixture(estate.databases).verify()
    assert (verdict.erased, verdict.faults, verdict.waiting) == (2, 0, 0)


async def test_a_caller_who_empties_a_row_in_the_name_of_an_erasure_is_found_out(estate: Estate) -> None:
    await record(estate.databases, change(actor=BEN), change(actor=ADA))
    await erase(estate, BEN)
    await seal(estate.databases)
    await tamper(
        estate.databases,
        "UPDATE chamberlain.audit SET payload = json_build_object('erased', $1::text) "
        "WHERE payload -> 'actor' ->> 'id' = $2",
        ERASURE,
        str(ADA),
    )
    await tamper(estate.databases, "UPDATE chamberlain.audit_seal SET actor_id = NULL, subject_id = NULL")

    audit_fixture = AuditFixture(estate.databases)
    await audit_fixture.verify()

    assert (FaultKind.CHANGED, None) in audit_fixture.kinds
    assert f"emptied by the erasure of trace {ERASURE}" in " ".join(fault.detail for _, fault in audit_fixture.told)


# An attacker knows that lists search the columns beside the seal.
FORGE = """
WITH forged AS (
    UPDATE chamberlain.audit SET payload = $2::text::json WHERE sequence = $1 RETURNING sequence
)
UPDATE chamberlain.audit_seal s SET actor_id = NULL, subject_id = NULL FROM forged WHERE s.sequence = forged.sequence
"""
EMPTIED = f'{{"erased" : "{ERASURE}"}}'


async def erased_among_others(estate: Estate) -> tuple[int, int, int]:
    """Ben is forgotten; gives the sequences of his row, of one that stays, and of the record."""
    await record(estate.databases, change(actor=BEN), change(actor=ADA))
    await erase(estate, BEN)
    await seal(estate.databases)
    assert (await AuditFixture(estate.databases).verify()).faults == 0
    statement = "SELECT sequence FROM chamberlain.audit WHERE tenant_id = $1 ORDER BY sequence DESC LIMIT 3"
    (of_record,), (of_ada,), (of_ben,) = await estate.rows(statement, ESTATE)
    return int(str(of_ben)), int(str(of_ada)), int(str(of_record))


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param('{"erased": "TRACE", "actor": {"type": "user", "id": null, "displayName": "E"}}', id="with more"),
        pytest.param('{"erased": "Eva did it", "erased": "TRACE"}', id="said twice"),
        pytest.param('{"erased":"TRACE"}', id="written otherwise"),
        pytest.param('{"erased" : null}', id="by nobody"),
    ],
)
@pytest.mark.parametrize("which", [0, 1, 2], ids=["the emptied row", "another row", "the record"])
async def test_a_payload_that_was_forged_after_an_erasure_is_found(estate: Estate, which: int, forged: str) -> None:
    sequence = (await erased_among_others(estate))[which]
    await tamper(estate.databases, FORGE, sequence, forged.replace("TRACE", ERASURE))

    audit_fixture = AuditFixture(estate.databases)
    await audit_fixture.verify()

    assert audit_fixture.kinds[0] == (FaultKind.CHANGED, sequence)


async def test_the_record_of_an_erasure_cannot_be_emptied(estate: Estate) -> None:
    _, _, of_record = await erased_among_others(estate)
    await tamper(estate.databases, FORGE, of_record, EMPTIED)

    audit_fixture = AuditFixture(estate.databases)
    await audit_fixture.verify()

    assert audit_fixture.kinds == [(FaultKind.CHANGED, of_record), (FaultKind.CHANGED, None)]


async def test_the_word_of_a_record_that_was_changed_counts_for_nothing(estate: Estate) -> None:
    """The record is made to fit another row, and that row is emptied as well."""
    of_ben, of_ada, of_record = await erased_among_others(estate)
    await tamper(estate.databases, FORGE, of_ada, EMPTIED)
    await tamper(
        estate.databases,
        "UPDATE chamberlain.audit SET payload = replace(payload::text, $1, $2)::json WHERE sequence = $3",
        digest_of_sequences([of_ben]),
        digest_of_sequences([of_ben, of_ada]),
        of_record,
    )

    audit_fixture = AuditFixture(estate.databases)
    await audit_fixture.verify()

    assert audit_fixture.kinds == [(FaultKind.CHANGED, of_record), (FaultKind.CHANGED, None)]


async def test_an_emptied_row_shows_nothing_that_was_put_into_it_later(estate: Estate) -> None:
    of_ben, _, _ = await erased_among_others(estate)
    refilled = {"erased": ERASURE, "subject": {"type": "user", "id": None, "displayName": "Eva"}, "after": 1}
    await tamper(estate.databases, FORGE, of_ben, msgspec.json.encode(refilled).decode())

    async with estate.databases.application.transaction(ESTATE) as tx:
        found = (await audit_store.find_page(tx, AuditFilter(), PageWanted(4, None))).items

    (row,) = [row for row in found if row.sequence == of_ben]
    assert row.is_erased
    assert (row.actor, row.client, row.subject, row.before, row.after) == (None, None, None, None, None)
    assert row.client_address is None


async def test_nothing_says_the_name_any_more(estate: Estate) -> None:
    """Ben has asked for this and that, may decide about something, and has made and assigned things."""
    # The feed is read, so accepted requests have events.
    await estate.rows("UPDATE chamberlain.tenant SET events_read_at = now() RETURNING 1")
    ended = await estate.request("Apollo", caller=caller_of(BEN))
    await estate.ask_mailbox(
        {"name": "Info", "displayName": "Information", "alias": "desk"}, caller=mail_caller_of(BEN)
    )
    await estate.request("Hermes", owners=[str(BEN)])
    secret = await estate.request("Secret", templateId=str(CONFIDENTIAL_TEAM))
    await estate.work()
    person = f'{{"type": "user", "id": "{BEN}", "display_name": "Ben Okafor"}}'
    await estate.rows(
        "UPDATE chamberlain.template SET created_by = $2::text::json WHERE tenant_id = $1", ESTATE, person
    )
    await estate.rows(
        "INSERT INTO chamberlain.subject (tenant_id, subject_id, type, display_name, name_key, is_team, "
        "member_ship_type, observed_at, assigned_by) "
        "VALUES ($1, gen_random_uuid(), 'group', 'All staff', '', false, 0, now(), $2::text::json)",
        ESTATE,
        person,
    )
    await estate.rows(
        "UPDATE chamberlain.request SET approvals = replace(replace(approvals::text, $2, $3), 'Dara Lindqvist', "
        "'Ben Okafor')::json WHERE request_id = $1",
        secret.request_id,
        str(DARA),
        str(BEN),
    )
    await estate.rows(
        "INSERT INTO chamberlain.finding (tenant_id, finding_id, kind, state, source, subject_type, subject_id, "
        "subject_name, about, detail, observed, first_seen_at, last_seen_at, accepted_by) VALUES ($1, "
        "gen_random_uuid(), 'guestAgainstRule', 'open', 'assignment', 'group', gen_random_uuid(), '', $2, "
        """'Ben Okafor is a guest.', '"ben@estate.example"', now(), now(), $3::text::json)""",
        ESTATE,
        str(BEN),
        person,
    )
    await estate.rows(
        "INSERT INTO chamberlain.finding (tenant_id, finding_id, kind, state, source, subject_type, subject_id, "
        "subject_name, about, detail, wanted, observed, ignored_observed, first_seen_at, last_seen_at) VALUES ($1, "
        "gen_random_uuid(), 'drift', 'accepted', 'drift', 'group', gen_random_uuid(), '', 'owners', 'Owners differ.', "
        "'[]', $2::text::json, $2, now(), now())",
        ESTATE,
        f'["{BEN}"]'.upper(),
    )
    await told_elsewhere(estate)
    before = await said(estate)

    await erase(estate, BEN)

    owners = "SELECT detail, wanted::text, observed::text, ignored_observed FROM chamberlain.finding "
    assert await estate.rows(f"{owners} WHERE kind = 'drift'") == [("", None, None, "null")]

    after = await said(estate)
    assert before.count("Ben Okafor") > 8
    assert "Ben Okafor" not in after
    assert "ben@estate.example" not in after
    assert "Ada Achterberg" in after
    accepted = "SELECT data -> 'createdBy' ->> 'displayName' FROM chamberlain.event WHERE type = 'request.accepted'"
    assert sorted(await estate.rows(accepted)) == [("",), ("",), ("Ada Achterberg",), ("Ada Achterberg",)]
    # The rest can be read as before.
    assert (await estate.record(ended.request_id)).body == b"{}"
    (level,) = (await estate.record(secret.request_id)).approvals
    assert [(approver.id, approver.display_name) for approver in level.approvers] == [(BEN, "")]
    assert [(decision.by.id, decision.by.display_name, decision.comment) for decision in level.decisions] == [
        (BEN, "", "Fine.")
    ]
    told = "SELECT payload, attempts ->> 0 FROM chamberlain.delivery"
    ((payload, attempt),) = await estate.rows(told)
    assert msgspec.json.decode(str(payload)) == {
        "data": {"createdBy": {"type": "user", "id": str(BEN), "displayName": ""}}
    }
    assert msgspec.json.decode(str(attempt)) == {"number": 1, "status": 200, "answer": None}
    ((kept,),) = await estate.rows("SELECT answer FROM chamberlain.idempotency_key WHERE key = 'of Ada'")
    assert msgspec.json.decode(str(kept))["createdBy"]["displayName"] == ""
    assert (await AuditFixture(estate.databases).verify()).faults == 0


async def told_elsewhere(estate: Estate) -> None:
    """Send Ben's name to a webhook, which answers with it, let him decide, and keep an answer for Ada's key."""
    person = f'{{"type": "user", "id": "{BEN}", "displayName": "Ben Okafor"}}'
    await estate.rows(
        "INSERT INTO chamberlain.delivery (tenant_id, delivery_id, event_id, type, template_id, url, payload, "
        "attempts, trace_id) VALUES ($1, gen_random_uuid(), gen_random_uuid(), 'group.created', gen_random_uuid(), '', "
        "$2, $3::text::jsonb, '')",
        ESTATE,
        f'{{"data": {{"createdBy": {person}}}}}',
        '[{"number": 1, "status": 200, "answer": "Thank you, Ben Okafor."}]',
    )
    await estate.rows(
        "INSERT INTO chamberlain.idempotency_key (tenant_id, client_id, caller_id, key, digest, answer) "
        "VALUES ($1, 'c', $2, 'of Ada', '', $3)",
        ESTATE,
        ADA,
        f'{{"createdBy": {person}}}',
    )
    decision = (
        f'[{{"by": {{"type": "user", "id": "{BEN}", "display_name": "Ben Okafor"}}, "outcome": "approved", '
        '"comment": "Fine.", "decided_at": "2026-11-20T09:30:00Z"}]'
    )
    await estate.rows(
        "UPDATE chamberlain.request SET approvals = "
        "jsonb_set(approvals::jsonb, '{0,decisions}', $2::text::jsonb)::json "
        "WHERE tenant_id = $1 AND state = 'pendingApproval'",
        ESTATE,
        decision,
    )


async def test_the_body_of_a_request_under_way_stays_until_it_has_ended(estate: Estate) -> None:
    accepted = await estate.request("Apollo", caller=caller_of(BEN))
    (first,) = await erase(estate, BEN)
    kept = (await estate.record(accepted.request_id)).body
    await estate.work()

    (second,) = await erase(estate, BEN, trace_id=TraceId("e1" * 16))

    assert (first.bodies, first.bodies_left) == (0, 1)
    assert kept != b"{}"
    record_ = await estate.record(accepted.request_id)
    assert (record_.state, record_.body, second.bodies_left) == (RequestState.SUCCEEDED, b"{}", 0)


async def test_a_second_time_finds_nothing(estate: Estate) -> None:
    await record(estate.databases, change(actor=BEN))
    await erase(estate, BEN)

    assert await erase(estate, BEN, trace_id=TraceId("e1" * 16)) == []
    actions = await estate.rows("SELECT count(*) FROM chamberlain.audit WHERE action = 'user.erase'")
    assert actions == [(1,)]


async def test_an_id_in_capital_letters_is_found(estate: Estate) -> None:
    await estate.request("Apollo", members=[str(CLEO).upper()])
    await estate.work()

    (erasure,) = await erase(estate, CLEO)

    assert erasure.bodies == 1


async def test_an_id_that_was_sent_with_escapes_is_found(estate: Estate) -> None:
    escaped = "".join(f"\\u{ord(each):04X}" for each in str(CLEO).upper()[:9]) + str(CLEO)[9:]
    accepted = await estate.request("Apollo")
    await put(estate, accepted.request_id, RequestState.SUCCEEDED)
    await accept_unreadable(estate.databases, "request")
    await estate.rows(
        "UPDATE chamberlain.request SET body = $2::text::json WHERE request_id = $1",
        accepted.request_id,
        f'{{"members": ["{escaped}"], "description": "\\u0000"}}',
    )
    (erasure,) = await erase(estate, CLEO)

    assert erasure.bodies == 1
    assert (await estate.record(accepted.request_id)).body == b"{}"


async def test_it_goes_through_all_tenants_or_one(estate: Estate) -> None:
    await record(estate.databases, change(actor=ZOE), change(actor=ZOE, tenant_id=OTHER_HOUSE))

    one = await erase(estate, ZOE, OTHER_HOUSE)
    rest = await erase(estate, ZOE, None, trace_id=TraceId("e1" * 16))

    assert [(each.tenant_id, each.audit_rows) for each in one] == [(OTHER_HOUSE, 1)]
    assert [(each.tenant_id, each.audit_rows) for each in rest] == [(ESTATE, 1)]


async def test_it_rejects_a_tenant_that_there_is_not(estate: Estate) -> None:
    with pytest.raises(NotFound):
        await erase(estate, BEN, TenantId(BEN))


async def test_the_state_of_a_failed_request_allows_to_keep_what_a_retry_needs(estate: Estate) -> None:
    accepted = await estate.request("Apollo", caller=caller_of(BEN))
    await put(estate, accepted.request_id, RequestState.FAILED)

    (erasure,) = await erase(estate, BEN)

    assert (erasure.bodies, erasure.bodies_left) == (0, 1)


@pytest.mark.parametrize("user", [BEN, DARA])
async def test_substitutions_of_both_sides_are_removed(estate: Estate, user: UserId) -> None:
    async with estate.databases.worker.transaction(ESTATE) as tx:
        await substitute_records.save(tx, Substitution(BEN, DARA, estate.moment + timedelta(days=1)), estate.moment)
        await substitute_records.save(tx, Substitution(ADA, CLEO, estate.moment + timedelta(days=1)), estate.moment)

    await erase(estate, user)

    assert [approver for (approver,) in await estate.rows("SELECT user_id FROM chamberlain.substitute")] == [ADA]


async def test_questions_to_the_user_are_removed(estate: Estate) -> None:
    for user in (ADA, BEN):
        await estate.rows(
            "INSERT INTO chamberlain.question (tenant_id, request_id, level, user_id, state, asked_at, seen) "
            "VALUES ($1, $1, 1, $2, 'unreachable', now(), now()) RETURNING 1",
            ESTATE,
            user,
        )

    await erase(estate, BEN)

    assert [user for (user,) in await estate.rows("SELECT user_id FROM chamberlain.question")] == [ADA]
