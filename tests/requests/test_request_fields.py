# SPDX-License-Identifier: Apache-2.0
"""A request shows its custom fields with the labels of its template at submission."""

import json
from datetime import timedelta
from typing import Any

import pytest

from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import RequestId
from chamberlain.requests.models import ShownField
from chamberlain.requests.rules import RequestView
from chamberlain.requests.wire import request_of
from tests.databases import Databases
from tests.estates import (
    ADA,
    BEN,
    PROJECT_GROUP,
    SHARED_MAILBOX,
    Estate,
    apply,
    caller_of,
    changed_estate,
    mail_caller_of,
    open_estate,
)
from tests.requests.request_services import ACT, request_service

FIELDS: list[dict[str, Any]] = [
    {"key": "customer", "label": "Customer", "type": "text"},
    {"key": "for", "label": "For whom", "type": "choice", "choices": [{"value": "in", "label": "Internal"}]},
    {"key": "lead", "label": "Lead", "type": "user"},
    {"key": "secret", "label": "Confidential", "type": "boolean"},
    {"key": "note", "label": "Note", "type": "text"},
]
METADATA = {"customer": "Acme", "for": "in", "lead": str(BEN).upper(), "secret": False, "note": "", "other": "x"}
SHOWN = (
    ShownField("customer", "Customer", "Acme"),
    ShownField("for", "For whom", "Internal"),
    ShownField("lead", "Lead", "Ben Okafor"),
    ShownField("secret", "Confidential", value=False),
)
# Stored templates of an administrator may have defaults.
MAILBOX_FIELDS = """
UPDATE chamberlain.template_revision SET content = (content::jsonb || $2::text::jsonb)::json
WHERE template_id = $1 RETURNING 1
"""


async def fields_of(estate: Estate, request_id: RequestId) -> tuple[ShownField, ...]:
    return (await request_service(estate).read(caller_of(ADA), request_id)).fields


@pytest.fixture
async def asked(databases: Databases) -> tuple[Estate, RequestId]:
    """A request by a template with fields of each type."""
    estate = await open_estate(databases, changed_estate(project_group={"customFields": FIELDS}))
    return estate, (await estate.request("Apollo", metadata=METADATA)).request_id


async def test_it_works(asked: tuple[Estate, RequestId]) -> None:
    estate, request_id = asked

    view = await request_service(estate).read(caller_of(ADA), request_id)

    assert view.fields == SHOWN
    assert [(each.key, each.label, each.value) for each in request_of(view).fields][1:3] == [
        ("for", "For whom", "Internal"),
        ("lead", "Lead", "Ben Okafor"),
    ]


async def test_labels_are_those_of_the_submission(asked: tuple[Estate, RequestId]) -> None:
    estate, request_id = asked
    renamed = [{**each, "label": f"New {each['label']}"} for each in FIELDS]
    await apply(estate.databases, changed_estate(project_group={"customFields": renamed}))

    later = await estate.request("Borealis", metadata={"customer": "Acme"})

    assert await fields_of(estate, request_id) == SHOWN
    assert await fields_of(estate, later.request_id) == (ShownField("customer", "New Customer", "Acme"),)


async def test_the_answer_of_an_action_has_them(asked: tuple[Estate, RequestId]) -> None:
    estate, request_id = asked

    def render(view: RequestView) -> bytes:
        return json.dumps([field.label for field in view.fields]).encode()

    answer = await request_service(estate).cancel(caller_of(ADA), request_id, ACT, render)

    assert json.loads(answer.body) == [each.label for each in SHOWN]


async def test_a_user_has_the_id_while_the_directory_does_not_answer(asked: tuple[Estate, RequestId]) -> None:
    estate, request_id = asked
    estate.people.error = TryAgain(timedelta(seconds=3), "The directory is away.")

    assert (await fields_of(estate, request_id))[2] == ShownField("lead", "Lead", str(BEN).upper())


async def test_defaults_of_a_mailbox_template_are_shown(estate: Estate) -> None:
    defaults = {"customFields": FIELDS, "defaults": {"metadata": {"for": "in", "lead": str(BEN)}}}
    await estate.rows(MAILBOX_FIELDS, SHARED_MAILBOX, json.dumps(defaults))
    sent = {"name": "info", "displayName": "Info", "templateId": str(SHARED_MAILBOX)}
    service = request_service(estate)

    default = (await estate.ask_mailbox(sent)).accepted.request_id
    view = await service.read(mail_caller_of(ADA), default)

    assert view.fields == (ShownField("for", "For whom", "Internal"), ShownField("lead", "Lead", "Ben Okafor"))


async def test_a_request_without_values_has_none(estate: Estate) -> None:
    accepted = await estate.request("Apollo", templateId=str(PROJECT_GROUP))
    view = await request_service(estate).read(caller_of(ADA), accepted.request_id)

    assert view.fields == ()
