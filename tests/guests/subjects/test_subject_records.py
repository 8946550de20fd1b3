# SPDX-License-Identifier: Apache-2.0
"""The records of groups and sites."""

from dataclasses import replace

import pytest

from chamberlain.core.errors import NotFound
from chamberlain.core.ids import TemplateId
from chamberlain.directory.groups import ObservedGroup
from chamberlain.directory.subjects import ObservedSite, Sharing, SubjectType
from chamberlain.guests.models import Assignment
from chamberlain.guests.subjects.models import new_entry, require_type, to_entry
from tests.auth.editor_values import NOW
from tests.groups.group_values import ADA, WANTED
from tests.guests.subjects.subject_values import ENTRY, GROUP_ID, OBSERVED, RECORD

pytestmark = pytest.mark.pure

GROUP, SITE = SubjectType.GROUP, SubjectType.SITE
MADE = ObservedGroup(
    id=GROUP_ID,
    display_name="Apollo",
    mail="apollo@estate.example",
    mail_nickname="apollo",
    owners=frozenset({ADA}),
    members=frozenset({ADA}),
    label_id=None,
    channels=None,
    marks={},
)


def test_it_works() -> None:
    site = ObservedSite("https://sites.example/apollo", "Apollo site", Sharing.ANYONE, Sharing.DISABLED)

    assert to_entry(OBSERVED, at=NOW) == ENTRY
    assert to_entry(replace(OBSERVED, type=SITE, site=site), at=NOW) == replace(
        ENTRY,
        type=SITE,
        display_name="Apollo site",
        site_url="https://sites.example/apollo",
        sharing=Sharing.ANYONE,
    )


@pytest.mark.parametrize(("channels", "is_team"), [(None, False), ((), True), (("General",), True)])
def test_a_group_that_was_just_made_is_kept(channels: tuple[str, ...] | None, *, is_team: bool) -> None:
    assert new_entry(WANTED, replace(MADE, channels=channels), at=NOW) == replace(ENTRY, is_team=is_team)


@pytest.mark.parametrize("found", [GROUP, SITE])
def test_each_is_found_at_its_path(found: SubjectType) -> None:
    require_type(found, GROUP_ID, found)


@pytest.mark.parametrize(
    ("found", "wanted", "other"),
    [
        (None, GROUP, ""),
        (None, SITE, ""),
        (SITE, GROUP, f"/admin/collab/v1/manage/spo/{GROUP_ID}/"),
        (GROUP, SITE, f"/admin/collab/v1/manage/groups/{GROUP_ID}/"),
    ],
)
def test_it_is_not_found_at_the_path_of_others(found: SubjectType | None, wanted: SubjectType, other: str) -> None:
    with pytest.raises(NotFound) as caught:
        require_type(found, GROUP_ID, wanted)
    assert caught.value.code == "notFound"
    assert other in caught.value.detail


@pytest.mark.parametrize(
    ("was", "template_id", "expected"),
    [
        (None, RECORD.assignment.template_id, False),
        (GROUP, RECORD.assignment.template_id, False),
        (SITE, RECORD.assignment.template_id, True),
        (SITE, None, False),
    ],
)
def test_it_has_turned_where_its_template_was_that_of_the_other_type(
    was: SubjectType | None, template_id: TemplateId | None, *, expected: bool
) -> None:
    record = replace(RECORD, assigned_type=was, assignment=Assignment(template_id, None))

    assert record.has_changed_type is expected
    assert record.etag == record.assignment.etag


def test_the_api_shows_these_words() -> None:
    assert [str(each) for each in SubjectType] == ["group", "site"]
