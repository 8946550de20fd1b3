# SPDX-License-Identifier: Apache-2.0
"""Assignments as the worker applies them: a template may remove guests, and no template removes none."""

from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId
from chamberlain.directory.subjects import AddedBy, GuestRules, PresentGuests, SubjectType
from chamberlain.guests.models import Assigned, Assignment
from chamberlain.templates.models import GuestTemplate
from tests.groups.group_values import TENANT

pytestmark = pytest.mark.pure

RULES = GuestRules(allowed=False, added_by=next(iter(AddedBy)), allowed_domains=(), blocked_domains=(), sharing=None)


@pytest.mark.parametrize(
    ("template", "removes"),
    [
        (None, False),
        (GuestTemplate("Strict", RULES, PresentGuests.REMOVE), True),
        (GuestTemplate("Lenient", RULES, PresentGuests.KEEP), False),
    ],
)
def test_only_a_template_that_says_so_removes_guests(template: GuestTemplate | None, *, removes: bool) -> None:
    assigned = Assigned(
        tenant_id=TENANT,
        id=GroupId(UUID(int=1)),
        type=SubjectType.GROUP,
        display_name="Crew",
        extension="extension",
        generation=1,
        assignment=Assignment(),
        template=template,
    )

    assert assigned.removes_guests is removes
    assert assigned.wanted.rules is (None if template is None else RULES)
