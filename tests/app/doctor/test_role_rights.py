# SPDX-License-Identifier: Apache-2.0
"""Faults in the rights of a role."""

from dataclasses import replace

import pytest

from chamberlain.app.doctor.store import APPLICATION, WORKER, RoleRights, judge_role, judge_row_security
from chamberlain.core.health import HealthState

pytestmark = pytest.mark.pure

OK, WARNING, FAULT = HealthState.OK, HealthState.WARNING, HealthState.FAULT
API = RoleRights(
    name="api",
    acts_as=frozenset({APPLICATION}),
    is_superuser=False,
    passes_row_security=False,
    owns_tables=False,
    changes_audit=False,
)
BACKGROUND = replace(API, name="background", acts_as=frozenset({WORKER}))


@pytest.mark.parametrize(
    ("rights", "states"),
    [
        (API, [OK]),
        (replace(API, acts_as=frozenset()), [FAULT]),
        (replace(API, is_superuser=True), [FAULT]),
        (replace(API, passes_row_security=True), [FAULT]),
        (replace(API, owns_tables=True), [FAULT]),
        (replace(API, acts_as=frozenset({APPLICATION, WORKER})), [FAULT]),
        (replace(API, changes_audit=True), [FAULT]),
        (BACKGROUND, [FAULT, FAULT]),
    ],
)
def test_it_works_for_the_role_that_answers_calls(rights: RoleRights, states: list[HealthState]) -> None:
    assert [(each.name, each.state) for each in judge_role(APPLICATION, rights)] == [
        ("roles", state) for state in states
    ]


@pytest.mark.parametrize(
    ("rights", "states"),
    [
        (BACKGROUND, [OK]),
        (replace(BACKGROUND, passes_row_security=True, changes_audit=True), [OK]),
        (replace(BACKGROUND, acts_as=frozenset({APPLICATION})), [FAULT]),
        (replace(BACKGROUND, is_superuser=True), [WARNING]),
        (replace(BACKGROUND, owns_tables=True), [WARNING]),
        (replace(BACKGROUND, acts_as=frozenset(), owns_tables=True), [FAULT, WARNING]),
    ],
)
def test_it_works_for_the_role_of_workers(rights: RoleRights, states: list[HealthState]) -> None:
    assert [(each.name, each.state) for each in judge_role(WORKER, rights)] == [("roles", state) for state in states]


def test_every_table_needs_row_level_security() -> None:
    faulty = judge_row_security(["request", "job"])

    assert judge_row_security([]).state is OK
    assert (faulty.name, faulty.state) == ("row-level security", FAULT)
    assert "request, job" in faulty.seen
