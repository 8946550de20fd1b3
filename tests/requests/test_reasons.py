# SPDX-License-Identifier: Apache-2.0
"""Reasons of waits and warnings in rows: of this version, of older ones, and after the older ones are gone."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import RequestId
from chamberlain.core.reasons import SENTENCES, Cause, Reason, kept_causes, shown_reason, shown_warnings
from chamberlain.database.notify import Watchers
from chamberlain.requests.models import RequestState, StepState
from chamberlain.requests.rules import viewed
from chamberlain.requests.timeline import Timelines
from chamberlain.requests.wire import request_of
from tests.databases import SETS, Databases
from tests.estates import (
    ADA,
    ESTATE,
    SHARED_MAILBOX,
    Estate,
    caller_of,
    mail_caller_of,
    open_estate,
)
from tests.example import configuration_in, example_document
from tests.postgres import connected
from tests.requests.request_services import cancel

MIGRATIONS = SETS[0].migrations
REASON = Reason.build("groupNotShown")
WARNED = Reason.build("propertyHasNoEffect", type="shared", property="officeLocation")
LEFT = Reason.build("lastOwner", guest="Zoe")


@dataclass(frozen=True, slots=True)
class OlderStep:
    """The part of a step that older versions read."""

    step: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class OlderWait:
    """The part of a wait that older versions read."""

    reason: str
    attempt: int


@pytest.mark.pure
def test_it_works() -> None:
    reason = shown_reason(None, LEFT.cause)

    assert reason == LEFT
    assert reason.values == {"guest": "Zoe"}


@pytest.mark.pure
@pytest.mark.parametrize("cause", [Cause("ofANewerVersion", {"a": 1}), Cause("lastOwner", {"person": "Zoe"})])
def test_a_reason_of_a_newer_version_keeps_its_sentence(cause: Cause) -> None:
    assert shown_reason("Newer.", cause) == Reason("Newer.", cause.code, cause.values)
    assert shown_reason("Older.", None) == Reason("Older.")


@pytest.mark.pure
def test_warnings_of_older_and_newer_versions_are_joined() -> None:
    causes = kept_causes((WARNED, LEFT))
    added_by_an_older_version = [WARNED.sentence, "Added.", LEFT.sentence]

    assert shown_warnings(added_by_an_older_version, causes) == (WARNED, Reason("Added."), LEFT)
    assert shown_warnings([], causes) == (WARNED, LEFT)
    assert shown_warnings([WARNED.sentence] * 2, causes[:1]) == (WARNED, Reason(WARNED.sentence))


async def test_the_database_knows_the_code_of_every_sentence(estate: Estate) -> None:
    known = "SELECT code, chamberlain.is_rendered(code) FROM unnest($1::text[]) AS c (code)"

    found = await estate.rows(known, [*SENTENCES, "ofANewerVersion"])

    assert {str(code): known for code, known in found} == {**dict.fromkeys(SENTENCES, True), "ofANewerVersion": False}


async def test_a_wait_is_kept_as_code_and_values(estate: Estate) -> None:
    request_id = await waiting(estate)

    stored = await rows_of(estate, request_id)

    assert (stored["waiting"]["reason"], stored["waiting"]["cause"]["code"]) == (None, "groupNotShown")
    assert [step["reason"] for step in stored["steps"]] == [None] * len(stored["steps"])
    await shown_everywhere(estate, request_id)


async def test_older_versions_read_the_sentence_until_they_are_gone(estate: Estate) -> None:
    await before_post(estate)
    request_id = await waiting(estate)

    stored = await rows_of(estate, request_id)

    steps = msgspec.convert(stored["steps"], tuple[OlderStep, ...])
    assert msgspec.convert(stored["waiting"], OlderWait).reason == REASON.sentence
    assert [each.reason for each in steps if each.reason] == [REASON.sentence]
    assert stored["timeline"][-1]["state"]["waiting"]["reason"] == REASON.sentence
    await shown_everywhere(estate, request_id)


async def test_a_row_of_an_older_version_has_a_sentence_alone(estate: Estate) -> None:
    await before_post(estate)
    request_id = await waiting(estate)
    older = """
    UPDATE chamberlain.request SET waiting = (waiting::jsonb - 'cause')::json,
        steps = (SELECT json_agg(s.step::jsonb - 'cause') FROM json_array_elements(steps) AS s (step)),
        warnings = '["Older."]'
    """
    async with connected(estate.databases.addresses.owner) as connection:
        await connection.execute(older)

    record = await estate.record(request_id)

    assert record.waiting is not None
    assert record.waiting.shown_reason == Reason(REASON.sentence)
    assert [each.shown_reason for each in record.steps if each.state is StepState.WAITING] == [Reason(REASON.sentence)]
    assert record.warnings == (Reason("Older."),)
    # The cancellation keeps it and adds none without an object.
    await cancel(estate, request_id, caller_of(ADA))
    assert (await estate.record(request_id)).warnings == (Reason("Older."),)


@pytest.mark.parametrize("is_before", [True, False])
async def test_a_warning_at_acceptance_is_kept_with_the_mailbox(databases: Databases, *, is_before: bool) -> None:
    document = example_document()
    document["tenants"][0]["applicability"] = "warn"
    estate = await open_estate(databases, configuration_in(document))
    if is_before:
        await before_post(estate)
    sent = {"name": "Desk", "displayName": "Desk", "templateId": str(SHARED_MAILBOX), "officeLocation": "5"}

    accepted = await estate.ask_mailbox(sent)

    texts = "SELECT warnings::text, warning_causes ->> 0 FROM chamberlain."
    for table in ("request", "mailbox"):
        ((sentences, cause),) = await estate.rows(texts + table)
        assert json.loads(str(cause))["code"] == WARNED.code
        assert (sentences is not None) is is_before
    assert accepted.record.warnings == (WARNED,)
    assert (await estate.record(accepted.accepted.request_id)).warnings == (WARNED,)
    assert (await estate.mailboxes.read(mail_caller_of(ADA), accepted.record.id)).warnings == (WARNED,)


async def before_post(estate: Estate) -> None:
    """Bring back the functions as they are before the post migration."""
    text = (MIGRATIONS / "0045_reason_causes.pre.sql").read_text(encoding="utf-8")
    functions = re.findall(r"^CREATE FUNCTION chamberlain\.kept_.*?;$", text, re.MULTILINE)
    assert len(functions) == 4
    async with connected(estate.databases.addresses.owner) as connection:
        for each in functions:
            await connection.execute(each.replace("CREATE", "CREATE OR REPLACE", 1))


async def waiting(estate: Estate) -> RequestId:
    """A request that waits for the directory."""
    accepted = await estate.request("Apollo")
    estate.directory.error = TryAgain(timedelta(seconds=10), REASON)
    await estate.work()
    return accepted.request_id


async def rows_of(estate: Estate, request_id: RequestId) -> Mapping[str, Any]:  # Any: JSON as it is stored.
    statement = "SELECT waiting::text, steps::text, timeline::text FROM chamberlain.request WHERE request_id = $1"
    (row,) = await estate.rows(statement, request_id)
    return dict(zip(("waiting", "steps", "timeline"), [json.loads(str(each)) for each in row], strict=True))


async def shown_everywhere(estate: Estate, request_id: RequestId) -> None:
    """The record, its JSON and its timeline show the reason with code and values."""
    record = await estate.record(request_id)
    assert record.state is RequestState.WAITING
    shown = json.loads(msgspec.json.encode(request_of(viewed(record))))
    (step,) = [each for each in shown["steps"] if each["state"] == "waiting"]
    for each in (shown["waiting"], step):
        assert (each["reason"], each["reasonCode"], each["reasonValues"]) == (REASON.sentence, REASON.code, {})
    timeline = await Timelines(estate.databases.application, Watchers()).find(ESTATE, request_id)
    assert timeline is not None
    last = timeline.entries[-1].state
    assert last is not None
    assert last.waiting is not None
    assert last.waiting.shown_reason == REASON
