# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from chamberlain.core.ids import GroupId
from chamberlain.directory.groups import MemberShipType
from tests.directory import group_work
from tests.directory.conftest import Adapter
from tests.directory.guest_work import (
    ASSIGNMENTS,
    GUEST_GIL,
    GUEST_HANA,
    OBSERVED_HANDBOOK,
    OBSERVED_PARTNERS,
    assign,
    reference,
)
from tests.directory.sample_directory import (
    HANDBOOK,
    INNER,
    OTHER_SITE,
    OTHER_TENANT,
    OUTER,
    PARTNERS,
    TENANT,
    VISITORS,
)

NOTHING = GroupId(UUID(int=1))


@pytest.mark.abilities
async def test_it_works(adapter: Adapter) -> None:
    asked = [reference(one) for one in (NOTHING, HANDBOOK, PARTNERS, HANDBOOK)]

    handbook = adapter.subject(OBSERVED_HANDBOOK)
    assert await adapter.guests.observe(asked) == [None, handbook, OBSERVED_PARTNERS, handbook]


async def test_it_handles_an_empty_batch(adapter: Adapter) -> None:
    assert await adapter.guests.observe([]) == []


async def test_it_shows_nothing_of_another_tenant(adapter: Adapter) -> None:
    asked = [reference(HANDBOOK, OTHER_TENANT), reference(OTHER_SITE), reference(OTHER_SITE, OTHER_TENANT)]

    here, there, own = await adapter.guests.observe(asked)

    assert (here, there) == (None, None)
    assert own is not None
    assert (own.tenant_id, [guest.display_name for guest in own.guests]) == (OTHER_TENANT, ["Ines Castro"])


async def test_it_shows_direct_guests_and_dynamic_groups(adapter: Adapter) -> None:
    outer, inner, visitors = await adapter.guests.observe([reference(one) for one in (OUTER, INNER, VISITORS)])

    assert outer is not None and inner is not None and visitors is not None  # noqa: PT018 - for the type checker.
    assert (outer.guests, inner.guests) == ((), ())
    assert (visitors.member_ship_type, visitors.guests) == (MemberShipType.DYNAMIC, (GUEST_GIL, GUEST_HANA))


async def test_it_shows_the_request_of_the_requested_extension_only(adapter: Adapter) -> None:
    one = group_work.work()
    [outcome] = await adapter.directory.ensure([one])
    assert outcome.observed is not None

    own = reference(outcome.observed.id)
    here, elsewhere = await adapter.guests.observe([own, replace(own, extension="other_group")])

    assert here is not None and elsewhere is not None  # noqa: PT018 - for the type checker.
    assert (here.request_id, elsewhere.request_id) == (one.wanted.request_id, None)
    assert (here.id, here.display_name, here.mail) == (outcome.observed.id, "Harbour", one.wanted.mail)


async def test_it_ignores_marks_without_ids(adapter: Adapter) -> None:
    one = group_work.work()
    marked = replace(one, wanted=replace(one.wanted, marks={**one.wanted.marks, "templateId": "x", "policyId": ""}))
    [outcome] = await adapter.directory.ensure([marked])
    assert outcome.observed is not None

    [seen] = await adapter.guests.observe([reference(outcome.observed.id)])

    assert seen is not None
    assert (seen.request_id, seen.template_id, seen.policy_id) == (one.wanted.request_id, None, None)


async def test_it_writes_nothing(adapter: Adapter) -> None:
    unknown = GroupId(uuid4())
    before = await adapter.guests.changes(TENANT, "chamberlain_group", None)

    await adapter.guests.observe([reference(HANDBOOK), reference(unknown)])

    after = await adapter.guests.changes(TENANT, "chamberlain_group", before.cursor)
    assert (after.subjects, after.removed, after.is_complete) == ((), (), True)
    assert await adapter.second_guests.observe([reference(unknown)]) == [None]


async def test_another_worker_sees_changes_at_once(adapter: Adapter) -> None:
    for assignment in ASSIGNMENTS:
        [outcome] = await adapter.guests.ensure([assign(PARTNERS, assignment)])
        assert await adapter.second_guests.observe([reference(PARTNERS)]) == [outcome.subject]
