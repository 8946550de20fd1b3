# SPDX-License-Identifier: Apache-2.0
"""Pages of a drift check: what is put right, what is reported, and what is on record before and afterwards."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from chamberlain.auth.models import ActorType
from chamberlain.changes.models import Subject
from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import MailboxId, TraceId
from chamberlain.directory.mailboxes import MailboxType, ObservedMailbox
from chamberlain.directory.properties import DriftProperty, Treatment
from chamberlain.drift.compare import Comparison, compare
from chamberlain.drift.models import ManagedMailbox
from chamberlain.drift.rules import (
    Page,
    Place,
    PropertyState,
    RepairRecord,
    Verdict,
    change_of,
    compared_properties,
    judge_all,
)
from chamberlain.guests.models import ClosedFinding, Finding, FindingKind, FindingMailbox, FindingState
from chamberlain.requests.models import RequestKind
from tests.drift.drift_values import shown_of, wanted_of
from tests.groups.group_values import TENANT
from tests.mailboxes.mailbox_values import HOUSE

pytestmark = pytest.mark.pure

P = DriftProperty
NOW = datetime(2026, 11, 20, 2, tzinfo=UTC)
YESTERDAY = NOW - timedelta(days=1)
REPAIRING = replace(HOUSE, repairs_drift=True)
WANTED = wanted_of(MailboxType.SHARED)
SHOWN = shown_of(WANTED)
MAILBOX = FindingMailbox(TENANT, MailboxId(UUID(int=1)), "The desk")
MANAGED = ManagedMailbox(MAILBOX, YESTERDAY, WANTED, replies_freely=False)
CITY, PHONE, HIDDEN = (MAILBOX.id, "city"), (MAILBOX.id, "phone"), (MAILBOX.id, "hideFromGAL")
NAME = (MAILBOX.id, "displayName")
# The city is new; repairs of the phone number did not hold twice; the display name is only reported.
BROKEN = replace(SHOWN, display_name="Desk 2", address_fields=replace(SHOWN.address_fields, city="X", phone="X"))
OTHER_CITY = replace(SHOWN, address_fields=replace(SHOWN.address_fields, city="X"))


def look(observed: ObservedMailbox | None = SHOWN) -> Comparison:
    return compare(REPAIRING, MANAGED, observed)


DIGESTS = {each.name.path: each.digest for each in look(BROKEN).differences}


def once(path: str, *, at: datetime = YESTERDAY, is_in_progress: bool = False) -> RepairRecord:
    return RepairRecord(1, DIGESTS[path], at, is_in_progress=is_in_progress)


TWICE = replace(once("phone"), repairs=2)
GIVEN_UP = replace(TWICE, found_at=NOW, has_given_up=True)
MADE = RepairRecord(1, DIGESTS["city"], NOW)


def page(
    seen: Comparison,
    states: Mapping[Place, PropertyState] | None = None,
    *,
    names: tuple[DriftProperty, ...] | None = None,
) -> Page:
    """The page of one mailbox as it is before anything is put right."""
    standings = {} if states is None else states
    return Page(
        tenant=REPAIRING,
        names=compared_properties(RequestKind.SHARED) if names is None else names,
        states=standings,
        comparisons=[seen],
        after=[seen],
        judged=judge_all(REPAIRING, standings, [seen], now=NOW),
    )


def told(found: Finding) -> tuple[FindingKind, str, str | None]:
    return found.kind, found.about, found.action


def test_it_works() -> None:
    seen = look(BROKEN)
    before = page(seen, {PHONE: PropertyState(TWICE)})

    assert {each.place: each.judgement.verdict for each in before.judged} == {
        NAME: Verdict.REPORT,
        CITY: Verdict.REPAIR,
        PHONE: Verdict.GIVE_UP,
    }
    assert [(each, [one.name for one in differences]) for each, differences in before.planned] == [
        (seen, [P.MAILBOX_CITY])
    ]
    assert [told(found) for found in before.announced_findings] == [(FindingKind.DRIFT, "city", "repair")]
    assert [told(found) for found in before.found] == [
        (FindingKind.DRIFT, "displayName", None),
        (FindingKind.DRIFT, "city", "repair"),
        (FindingKind.DRIFT, "phone", None),
        (FindingKind.REPAIR_DOES_NOT_HOLD, "phone", None),
    ]
    assert before.paths[:3] == ["exists", "displayName", "primarySmtpAddress"]


def test_what_is_announced_is_on_record_before_it_is_made() -> None:
    seen = look(BROKEN)
    before = page(seen, {PHONE: PropertyState(TWICE), HIDDEN: PropertyState(once("city"))}).announcing(now=NOW)

    assert before.announced_records == {CITY: RepairRecord(0, DIGESTS["city"], NOW, is_in_progress=True)}
    assert before.states[PHONE] == PropertyState(TWICE)


def test_a_second_repair_is_announced_beside_the_first() -> None:
    before = page(look(OTHER_CITY), {CITY: PropertyState(once("city"))}).announcing(now=NOW)

    assert before.announced_records == {CITY: once("city", is_in_progress=True)}


def test_what_was_put_right_is_on_record_and_not_found_any_more() -> None:
    before = page(look(BROKEN), {PHONE: PropertyState(TWICE)}).announcing(now=NOW)
    repaired = replace(BROKEN, address_fields=replace(BROKEN.address_fields, city=WANTED.address_fields.city))

    after = before.faulted({}, {MAILBOX.id: look(repaired)})

    assert after.repaired == {CITY}
    assert {found.about for found in after.found} == {"displayName", "phone"}
    assert after.records(now=NOW) == {CITY: MADE, PHONE: GIVEN_UP}


def test_what_the_directory_does_not_show_yet_is_under_way() -> None:
    after = page(look(OTHER_CITY)).announcing(now=NOW).faulted({}, {})

    assert after.repaired == set()
    assert "city" in {found.about for found in after.found}
    assert after.records(now=NOW) == {CITY: replace(MADE, is_in_progress=True)}


def test_what_the_directory_has_refused_is_reported_and_does_not_count() -> None:
    before = page(look(OTHER_CITY)).announcing(now=NOW)

    refusal = Rejected("notAllowed", "It is read-only.")
    refused = before.faulted({CITY: refusal}, {})
    silent = before.faulted({CITY: TryAgain(timedelta(minutes=5), "It is busy.")}, {})

    (found,) = [each for each in refused.found if each.about == "city"]
    assert found.action is None
    assert refusal.detail in found.detail
    assert refused.records(now=NOW) == {CITY: None}
    # Without an answer it may have been made.
    (found,) = [each for each in silent.found if each.about == "city"]
    assert found.action == "repair"
    assert silent.records(now=NOW) == {CITY: RepairRecord(0, DIGESTS["city"], NOW, is_in_progress=True)}


def test_a_fault_of_what_is_right_by_now_is_forgotten() -> None:
    before = page(look(OTHER_CITY)).announcing(now=NOW)

    after = before.faulted({CITY: Rejected("notAllowed", "It is read-only.")}, {MAILBOX.id: look()})

    assert after.records(now=NOW) == {CITY: MADE}


def test_a_late_repair_of_the_last_check_is_seen_by_this_one() -> None:
    late: dict[Place, PropertyState] = {
        CITY: PropertyState(once("city", is_in_progress=True)),
        PHONE: PropertyState(TWICE),
    }
    right = page(look(), late)

    assert right.repaired == {CITY}
    assert right.records(now=NOW) == {CITY: once("city"), PHONE: TWICE}
    # A property that is not compared here, or ignored by the tenant, is not reported as repaired.
    assert page(look(), late, names=(P.MAILBOX_PHONE,)).repaired == set()
    ignoring = replace(REPAIRING, repair_properties={P.MAILBOX_CITY: Treatment.IGNORED})
    assert replace(right, tenant=ignoring).repaired == set()


def test_a_repair_of_a_minute_ago_that_is_not_seen_yet_stays_under_way() -> None:
    just_now = NOW - timedelta(minutes=1)
    under_way = once("city", at=just_now, is_in_progress=True)
    seen = once("city", at=just_now)

    assert page(look(OTHER_CITY), {CITY: PropertyState(under_way)}).records(now=NOW) == {CITY: under_way}
    assert page(look(OTHER_CITY), {CITY: PropertyState(seen)}).records(now=NOW) == {CITY: seen}


def test_a_repair_that_was_announced_and_never_made_is_forgotten() -> None:
    announced_findings = RepairRecord(0, DIGESTS["city"], YESTERDAY, is_in_progress=True)

    assert page(look(), {CITY: PropertyState(announced_findings)}).records(now=NOW) == {CITY: None}
    # Of what has no record nothing is written.
    assert page(look(), {CITY: PropertyState()}).records(now=NOW) == {}


def test_what_is_not_shown_is_as_it_was() -> None:
    under_way = once("city", is_in_progress=True)
    gone = page(look(None), {CITY: PropertyState(under_way), PHONE: PropertyState(TWICE)})

    assert [told(found) for found in gone.found] == [(FindingKind.DRIFT, "exists", None)]
    assert gone.repaired == set()
    assert gone.records(now=NOW) == {CITY: under_way, PHONE: TWICE}


def test_a_mailbox_that_goes_while_it_is_put_right_is_not_right() -> None:
    before = page(look(OTHER_CITY)).announcing(now=NOW)

    after = before.faulted({}, {MAILBOX.id: look(None)})

    assert after.repaired == set()
    assert after.records(now=NOW) == {CITY: replace(MADE, is_in_progress=True)}


def test_what_is_known_by_now_decides() -> None:
    before = page(look(OTHER_CITY))

    again = before.judge_again({CITY: PropertyState(is_accepted=True)}, now=NOW)

    assert before.planned != []
    assert again.planned == []
    assert again.states == {CITY: PropertyState(is_accepted=True)}


def test_a_page_goes_on_without_what_is_gone() -> None:
    before = page(look(OTHER_CITY))

    assert before.without(()) == before
    rest = before.without({MAILBOX.id})
    assert (rest.comparisons, rest.after, rest.judged) == ([], [], [])


def test_what_was_put_right_goes_on_record() -> None:
    settled = ClosedFinding(MAILBOX, "city", FindingState.REPAIRED, wanted="Town", observed="X")

    change = change_of(settled, TraceId("7" * 32), None)

    assert (change.tenant_id, change.action, change.trace_id) == (TENANT, "mailbox.repair", "7" * 32)
    assert (change.actor.type, change.actor.id, change.client_id) == (ActorType.SYSTEM, None, None)
    assert change.subject == Subject("mailbox", MAILBOX.id, "The desk")
    assert (change.before, change.after) == ({"city": "X"}, {"city": "Town"})
