# SPDX-License-Identifier: Apache-2.0
"""The plan between what files ask for and what there is."""

from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.auth.models import Actor, ActorType, Editor
from chamberlain.changes.models import Content
from chamberlain.configuration.rules import (
    ChangeVerb,
    ConfigurationNoun,
    Picture,
    Plan,
    PlannedChange,
    picture_faults,
    plan_tenant,
    record_of,
)
from chamberlain.core.ids import TenantId, TraceId
from chamberlain.core.values import Json

pytestmark = pytest.mark.pure

HOUSE = TenantId(UUID(int=1))
A, B, C = (str(UUID(int=number)) for number in (11, 12, 13))
ISSUER: dict[str, Json] = {"issuer": "https://login.example", "tid": None, "audiences": {}}


def settings(**members: Json) -> Content:
    told: Content = {"id": str(HOUSE), "name": "House", "domains": ["house.example"], **members}
    return told


def template(id_: str = A, kind: str = "group", **members: Json) -> Content:
    told: Content = {"id": id_, "kind": kind, "name": kind.title(), "active": True, **members}
    return told


def policy(id_: str = B, **members: Json) -> Content:
    told: Content = {"id": id_, "name": "Policy", "active": True, **members}
    return told


THERE = Picture(HOUSE, settings(issuers=[ISSUER]), (template(A), template(C, "room")), (policy(B),))


MOVED = replace(THERE, settings=settings(domains=["moved.example"]))


def wants(*templates: Content) -> Picture:
    return replace(THERE, templates=templates)


def told(wanted: Picture, present: Picture | None = THERE) -> list[tuple[str, str, str]]:
    return [(each.verb, each.noun, str(each.id)) for each in plan_tenant(wanted, present)]


def test_it_works() -> None:
    wanted = Picture(
        HOUSE, settings(name="Home", issuers=[ISSUER]), (template(A, name="New"), template(B, "team")), (policy(C),)
    )

    assert told(wanted) == [
        ("change", "tenant", str(HOUSE)),
        ("remove", "template", C),
        ("remove", "policy", B),
        ("create", "policy", C),
        ("change", "template", A),
        ("create", "template", B),
    ]


def test_what_is_the_same_needs_nothing() -> None:
    assert told(THERE) == []


def test_of_a_change_only_what_changes_is_reported() -> None:
    wanted = replace(THERE, templates=(template(A, name="New", description="x"), template(C, "room")))

    (change,) = plan_tenant(wanted, THERE)

    assert (change.before, change.after) == (
        {"name": "Group", "description": None},
        {"name": "New", "description": "x"},
    )
    assert change.name == "New"


def test_all_of_a_tenant_that_is_new_is_created() -> None:
    assert {verb for verb, _, _ in told(THERE, None)} == {"create"}
    assert len(told(THERE, None)) == 4


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (replace(THERE, templates=None), []),
        (replace(THERE, policies=None), []),
        (replace(THERE, settings=settings()), []),
        (replace(THERE, templates=()), [("remove", "template", A), ("remove", "template", C)]),
        (replace(THERE, policies=()), [("remove", "policy", B)]),
        (replace(THERE, settings=settings(issuers=[])), [("change", "tenant", str(HOUSE))]),
    ],
)
def test_a_list_that_is_left_out_is_something_else_than_an_empty_one(
    wanted: Picture, expected: list[tuple[str, str, str]]
) -> None:
    assert told(wanted) == expected


def test_a_default_is_given_up_before_another_one_takes_it() -> None:
    before = replace(THERE, templates=(template(A, "room", isDefault=True), template(B, "room", isDefault=False)))
    after = replace(THERE, templates=(template(B, "room", isDefault=True), template(A, "room", isDefault=False)))

    assert [id_ for _, _, id_ in told(after, before)] == [A, B]
    assert [id_ for _, _, id_ in told(before, after)] == [B, A]


@pytest.mark.parametrize(
    ("wanted", "takes"),
    [
        (replace(THERE, templates=(template(A),)), True),
        (replace(THERE, settings=settings(issuers=[])), True),
        (replace(THERE, settings=settings(issuers=[{**ISSUER, "tid": "t"}])), True),
        (replace(THERE, settings=settings(issuers=[{**ISSUER, "audiences": {"a": "b"}}])), False),
        (replace(THERE, settings=settings(issuers=[ISSUER, {**ISSUER, "tid": "t"}])), False),
        (replace(THERE, settings=settings(name="Home")), False),
    ],
)
def test_it_knows_what_takes_something_away(wanted: Picture, *, takes: bool) -> None:
    plan = Plan(plan_tenant(wanted, THERE))

    assert bool(plan.losses) is takes
    assert plan.changes


def test_no_secret_is_shown() -> None:
    webhook: Json = {"url": "https://hooks.example", "secret": "whsec_1"}
    (change,) = plan_tenant(replace(THERE, templates=(template(A, webhook=webhook), template(C, "room"))), THERE)
    (made,) = plan_tenant(replace(THERE, policies=(policy(B), policy(A, steps=[{"secret": "x"}]))), THERE)

    assert change.after == {"webhook": {"url": "https://hooks.example", "secret": "***"}}
    assert made.after is not None
    assert made.after["steps"] == [{"secret": "***"}]


@pytest.mark.parametrize(
    ("wanted", "place", "code"),
    [
        (wants(template(A, "team")), "0/kind", "templateOfOtherKind"),
        (wants(template(B, guestTemplateId=C)), "0/guestTemplateId", "templateUnknown"),
        (wants(template(B, guestTemplateId=A), template(A)), "0/guestTemplateId", "templateUnknown"),
        (wants(template(B, guestTemplateId=C), template(C, "guest")), "1/kind", "templateOfOtherKind"),
        (wants(template(B, guestPolicyId=C)), "0/guestPolicyId", "policyUnknown"),
        (replace(wants(template(B, guestPolicyId=B)), policies=()), "0/guestPolicyId", "policyUnknown"),
        (wants(template(B, guestPolicyId=B)), None, None),
        (replace(wants(template(B, guestPolicyId=B)), policies=None), None, None),
    ],
)
def test_it_rejects_what_cannot_be(wanted: Picture, place: str | None, code: str | None) -> None:
    expected = [] if place is None else [(f"/templates/{place}", code)]

    assert [(fault.pointer, fault.code) for fault in picture_faults(wanted, THERE)] == expected


@pytest.mark.parametrize(
    ("left_out", "wanted", "fault"),
    [
        (template(A, guestPolicyId=B), replace(THERE, policies=()), ("/policies", "policyUnknown")),
        (template(A, "room", domain="House.example"), MOVED, ("/domains", "domainNotVerified")),
        (template(A, "room", defaults={"domain": "house.example"}), MOVED, ("/domains", "domainNotVerified")),
    ],
)
def test_it_rejects_to_take_what_a_template_that_is_left_out_needs(
    left_out: Content, wanted: Picture, fault: tuple[str, str]
) -> None:
    there = replace(THERE, templates=(left_out,))

    assert list(picture_faults(replace(there, templates=None), there)) == []
    found = picture_faults(replace(wanted, templates=None), there)
    assert [(each.pointer, each.code) for each in found] == [fault]


@pytest.mark.parametrize(
    ("verb", "action"), [(ChangeVerb.CREATE, "create"), (ChangeVerb.CHANGE, "replace"), (ChangeVerb.REMOVE, "delete")]
)
def test_it_goes_on_record_as_what_is_done_over_http_does(verb: ChangeVerb, action: str) -> None:
    change = PlannedChange(HOUSE, verb, ConfigurationNoun.POLICY, UUID(B), "Policy", {"a": 1}, {"a": 2})
    editor = Editor(Actor(ActorType.SYSTEM, None, "Command line"), None, TraceId("0" * 32), None)

    record = record_of(change, editor)

    assert (record.action, record.tenant_id, record.subject.id) == (f"policy.{action}", HOUSE, UUID(B))
    assert (record.before, record.after) == ({"a": 1}, {"a": 2})
