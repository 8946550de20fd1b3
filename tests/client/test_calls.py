# SPDX-License-Identifier: Apache-2.0
"""Build calls."""

import json
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from chamberlain_client import UNSET, operations
from chamberlain_client.calls import Body, build_change, build_get, build_post, comment_body, encode_body, encode_ids
from chamberlain_client.errors import NotAnId
from chamberlain_client.models import Administrators, MailboxType, NewGroup, NewMailbox, Tenant, TenantSettings

ID = "7e000000-0000-4000-8000-000000000011"


def test_it_works() -> None:
    call = build_post(operations.APPROVE_REQUEST, ID, body=comment_body("Well."), key=None)

    headers = dict(call.headers)
    assert (call.method, call.path, call.content) == ("POST", f"/requests/v1/{ID}/approve/", b'{"comment":"Well."}')
    assert len(headers["idempotency-key"]) == 32
    assert (headers["content-type"], call.is_repeatable, call.waits) == ("application/json", True, 0)


def test_it_generates_a_key_for_each_call() -> None:
    keys = {dict(build_post(operations.CREATE_GROUP, body={}, key=None).headers)["idempotency-key"] for _ in range(100)}

    assert len(keys) == 100


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        pytest.param(NewGroup(display_name="A", template_id=UUID(ID)), {}, id="absent"),
        pytest.param(
            NewGroup(display_name="A", template_id=UUID(ID), description=None), {"description": None}, id="null"
        ),
        pytest.param(NewGroup(display_name="A", template_id=UUID(ID), description=""), {"description": ""}, id="set"),
    ],
)
def test_it_distinguishes_absent_null_and_set(body: Body, sent: dict[str, object]) -> None:
    assert json.loads(encode_body(body)) == {"displayName": "A", "templateId": ID} | sent


def test_it_handles_a_json_object() -> None:
    assert json.loads(encode_body({"displayNme": [UUID(ID)]})) == {"displayNme": [ID]}


def test_it_renames_fields() -> None:
    body = NewMailbox(name="a", display_name="A", hide_from_gal=True, is_wheel_chair_accessible=False)

    assert json.loads(encode_body(body)) == {
        "name": "a",
        "displayName": "A",
        "hideFromGAL": True,
        "isWheelChairAccessible": False,
    }


def test_it_sends_no_etag_in_a_body() -> None:
    settings = TenantSettings(name="A", administrators=Administrators())

    assert "etag" in Tenant.__struct_fields__
    assert "etag" not in json.loads(encode_body(settings))


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param({"templateId": UNSET, "policyId": UNSET}, {}, id="UNSET keeps"),
        pytest.param({"templateId": None, "policyId": UNSET}, {"templateId": UUID(int=0)}, id="None clears"),
        pytest.param(
            {"templateId": ID, "policyId": None}, {"templateId": UUID(ID), "policyId": UUID(int=0)}, id="both"
        ),
    ],
)
def test_it_encodes_ids(given: dict[str, None], sent: dict[str, UUID]) -> None:
    assert encode_ids(given) == sent


@pytest.mark.parametrize("given", ["", "..", "../../admin/v1/tenant", "7e000000", "x" * 999, 7, None])
def test_it_rejects_an_invalid_id(given: str) -> None:
    with pytest.raises(NotAnId) as refused:
        build_get(operations.READ_MAILBOX, given)

    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("key", ["", "a b", "a\r\nx: y", "ä", "x" * 256])
def test_it_rejects_invalid_keys(key: str) -> None:
    with pytest.raises(ValueError, match="visible ASCII"):
        build_post(operations.CREATE_GROUP, body={}, key=key)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param(True, "true", id="yes"),
        pytest.param(0, "0", id="a number"),
        pytest.param(MailboxType.ROOM, "room", id="a word"),
        pytest.param(UUID(ID), ID, id="an id"),
        pytest.param(datetime(2026, 11, 20, 9, 30, tzinfo=UTC), "2026-11-20T09:30:00Z", id="a time"),
        pytest.param(
            datetime(2026, 11, 20, 9, 30, tzinfo=timezone(timedelta(hours=2))),
            "2026-11-20T07:30:00Z",
            id="another zone",
        ),
    ],
)
def test_it_encodes_filters(given: bool, sent: str) -> None:  # noqa: FBT001  A value of the table.
    assert build_get(operations.LIST_MAILBOXES, query={"q": given, "cursor": None}).query == (("q", sent),)


def test_it_rejects_a_time_without_a_zone() -> None:
    with pytest.raises(ValueError, match="says no zone"):
        build_get(operations.LIST_AUDIT, query={"from": datetime(2026, 11, 20, 9, 30)})  # noqa: DTZ001  The error.


def test_it_handles_dry_runs() -> None:
    call = build_post(operations.CREATE_GROUP, body={}, key="ignored", dry_run=True)
    change = build_change(operations.ASSIGN_TO_GROUP, ID, body={}, if_match='"3"', dry_run=True)

    assert call.query == change.query == (("dryRun", "true"),)
    assert change.is_repeatable
    assert "idempotency-key" not in dict(call.headers)


@pytest.mark.parametrize(
    ("wait", "sent"), [(None, None), (0.5, None), (10, "wait=10"), (9.9, "wait=9"), (99, "wait=30")]
)
def test_it_handles_waits(wait: float | None, sent: str | None) -> None:
    assert dict(build_post(operations.CREATE_GROUP, body={}, key=None, wait=wait).headers).get("prefer") == sent


@pytest.mark.parametrize(
    ("operation", "if_match", "is_repeatable"),
    [
        pytest.param(operations.REPLACE_POLICY, None, True, id="a PUT of anything"),
        pytest.param(operations.REPLACE_POLICY, '"3"', False, id="a PUT of one version"),
        pytest.param(operations.ASSIGN_TO_GROUP, None, True, id="an assignment"),
        pytest.param(operations.DELETE_POLICY, None, False, id="a DELETE"),
    ],
)
def test_it_marks_repeatable_calls(
    operation: operations.Operation,
    if_match: str | None,
    is_repeatable: bool,  # noqa: FBT001  A value of the table.
) -> None:
    assert build_change(operation, ID, body={}, if_match=if_match).is_repeatable is is_repeatable
