# SPDX-License-Identifier: Apache-2.0
"""Guest rules in entries: written, read and set in part."""

from dataclasses import replace

import pytest

from chamberlain.directory.opensuite.guest_settings import (
    DEFAULT_RULES,
    names_domains,
    stored_rules,
    with_access,
    with_domains,
    written_rules,
)
from chamberlain.directory.subjects import AddedBy, GuestRules, Sharing

pytestmark = pytest.mark.pure

RULES = GuestRules(
    allowed=False,
    added_by=AddedBy.OWNERS,
    allowed_domains=("partner.example", 'odd"\\,{}'),
    blocked_domains=("rival.example",),
    sharing=Sharing.ANYONE,
)


def test_it_works() -> None:
    [written] = written_rules(RULES)

    assert stored_rules(written) == replace(RULES, sharing=None)
    assert written_rules(stored_rules(written)) == [written]


@pytest.mark.parametrize(
    "text", [None, "", "x", "[]", "{}", '{"allowed": 1, "addedBy": "owners"}', '{"allowed": true}']
)
def test_other_texts_are_no_rules(text: str | None) -> None:
    assert stored_rules(text) is None


def test_no_rules_are_no_value() -> None:
    assert written_rules(None) == []


@pytest.mark.parametrize("present", [None, DEFAULT_RULES, replace(RULES, sharing=None)])
def test_rules_are_set_in_parts(present: GuestRules | None) -> None:
    before = present or DEFAULT_RULES

    access, domains = with_access(present, RULES), with_domains(present, RULES)

    assert access == replace(before, allowed=False, added_by=AddedBy.OWNERS)
    assert domains == replace(before, allowed_domains=RULES.allowed_domains, blocked_domains=RULES.blocked_domains)
    assert with_domains(access, RULES) == replace(RULES, sharing=None)
    assert (with_access(present, None), with_domains(present, None)) == (None, None)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [(None, False), (DEFAULT_RULES, False), (RULES, True), (replace(RULES, blocked_domains=()), True)],
)
def test_rules_that_name_domains(rules: GuestRules | None, expected: bool) -> None:  # noqa: FBT001 - a column.
    assert names_domains(rules) is expected
