# SPDX-License-Identifier: Apache-2.0
"""How a thing that is administered is changed, what goes on record, and what keeps it from being deleted."""

from uuid import UUID

import pytest

from chamberlain.auth.models import Edit, require_match
from chamberlain.changes.models import Content, differences
from chamberlain.core.errors import Conflict, Stale
from chamberlain.core.ids import TemplateId, TenantId, TraceId
from chamberlain.guests.policies.models import require_unused
from chamberlain.templates.models import TemplateHead, TemplateKind

pytestmark = pytest.mark.pure

TRACE = TraceId("0" * 32)
NAMING = TemplateHead(
    TenantId(UUID(int=1)), TemplateId(UUID(int=2)), 1, TemplateKind.TEAM, "Project team", active=False
)


@pytest.mark.parametrize(
    ("before", "after", "was", "became"),
    [
        ({"a": 1}, {"a": 1}, {}, {}),
        ({"a": 1, "b": [1]}, {"a": 2, "b": [1]}, {"a": 1}, {"a": 2}),
        ({"a": None}, {"a": 1}, {"a": None}, {"a": 1}),
        ({}, {"a": 1}, {"a": None}, {"a": 1}),
        ({"a": 1}, {}, {"a": 1}, {"a": None}),
    ],
)
def test_it_works(before: Content, after: Content, was: Content, became: Content) -> None:
    assert differences(before, after) == (was, became)


def test_what_changed_without_a_sign_is_told_too() -> None:
    assert differences({"a": 1, "b": 2}, {"a": 1, "b": 2}, also=("b",)) == ({"b": 2}, {"b": 2})


@pytest.mark.parametrize("seen", [None, frozenset({'"1"'}), frozenset({'"7"', '"1"'})])
def test_it_handles_the_version_that_there_is(seen: frozenset[str] | None) -> None:
    require_match('"1"', Edit(seen, TRACE), "policy")


@pytest.mark.parametrize("seen", [frozenset({'"2"'}), frozenset({"1"}), frozenset[str]()])
def test_it_rejects_another_version(seen: frozenset[str]) -> None:
    with pytest.raises(Stale, match="The policy has changed") as refused:
        require_match('"1"', Edit(seen, TRACE), "policy")

    assert refused.value.code == "etagStale"


@pytest.mark.parametrize(
    ("is_assigned", "named_by", "conflicting_id"),
    [(True, None, None), (True, NAMING, None), (False, NAMING, str(NAMING.id))],
)
def test_it_rejects_to_delete_what_is_in_use(
    *, is_assigned: bool, named_by: TemplateHead | None, conflicting_id: str | None
) -> None:
    with pytest.raises(Conflict) as refused:
        require_unused("policy", is_assigned=is_assigned, named_by=named_by)

    assert (refused.value.code, refused.value.conflicting_id) == ("inUse", conflicting_id)


def test_it_lets_go_what_nobody_uses() -> None:
    require_unused("policy", is_assigned=False, named_by=None)
