from dataclasses import replace
from uuid import UUID, uuid4

from chamberlain.core.ids import GroupId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.subjects import Guest, ObservedSite, ObservedSubject, Sharing, SubjectType
from tests.directory import wanted
from tests.directory.conftest import Stage
from tests.directory.population import (
    GIL,
    HANA,
    HANDBOOK,
    INNER,
    OTHER_SITE,
    OTHER_TENANT,
    OUTER,
    PARTNERS,
    TENANT,
    VISITORS,
)
from tests.directory.wanted_guests import ASSIGNMENTS, assign, reference

NOTHING = GroupId(UUID(int=1))
GUEST_GIL = Guest(GIL, "gil@partner.example", "Gil Hartmann")
GUEST_HANA = Guest(HANA, None, "Hana Novak")
OBSERVED_PARTNERS = ObservedSubject(
    tenant_id=TENANT,
    id=PARTNERS,
    type=SubjectType.GROUP,
    display_name="Partners",
    mail="partners@estate.example",
    is_team=True,
    member_ship_type=MemberShipType.PUBLIC,
    request_id=None,
    template_id=None,
    policy_id=None,
    rules=None,
    site=None,
    guests=(GUEST_GIL, GUEST_HANA),
    owners=1,
)
OBSERVED_HANDBOOK = replace(
    OBSERVED_PARTNERS,
    id=HANDBOOK,
    type=SubjectType.SITE,
    display_name="Handbook readers",
    mail=None,
    is_team=False,
    member_ship_type=MemberShipType.PRIVATE,
    site=ObservedSite(
        "https://sites.estate.example/handbook",
        "Handbook",
        sharing=Sharing.NEW_AND_EXISTING_GUESTS,
        default_sharing=Sharing.NEW_AND_EXISTING_GUESTS,
    ),
    guests=(GUEST_GIL,),
    owners=2,
)


async def test_it_works(stage: Stage) -> None:
    asked = [reference(one) for one in (NOTHING, HANDBOOK, PARTNERS, HANDBOOK)]

    assert await stage.guests.observe(asked) == [None, OBSERVED_HANDBOOK, OBSERVED_PARTNERS, OBSERVED_HANDBOOK]


async def test_it_answers_a_question_about_nothing(stage: Stage) -> None:
    assert await stage.guests.observe([]) == []


async def test_it_shows_nothing_of_another_tenant(stage: Stage) -> None:
    asked = [reference(HANDBOOK, OTHER_TENANT), reference(OTHER_SITE), reference(OTHER_SITE, OTHER_TENANT)]

    here, there, own = await stage.guests.observe(asked)

    assert (here, there) == (None, None)
    assert own is not None
    assert (own.tenant_id, [guest.display_name for guest in own.guests]) == (OTHER_TENANT, ["Ines Castro"])


async def test_it_shows_who_is_in_the_group_itself_and_knows_dynamic_groups(stage: Stage) -> None:
    outer, inner, visitors = await stage.guests.observe([reference(one) for one in (OUTER, INNER, VISITORS)])

    assert outer is not None and inner is not None and visitors is not None  # noqa: PT018 - for the type checker.
    assert (outer.guests, inner.guests) == ((), ())
    assert (visitors.member_ship_type, visitors.guests) == (MemberShipType.DYNAMIC, (GUEST_GIL, GUEST_HANA))


async def test_it_shows_the_request_that_made_a_group_under_its_own_extension_only(stage: Stage) -> None:
    one = wanted.work()
    [outcome] = await stage.directory.ensure([one])
    assert outcome.group is not None

    own = reference(outcome.group.id)
    here, elsewhere = await stage.guests.observe([own, replace(own, extension="other_group")])

    assert here is not None and elsewhere is not None  # noqa: PT018 - for the type checker.
    assert (here.request_id, elsewhere.request_id) == (one.wanted.request_id, None)
    assert (here.id, here.display_name, here.mail) == (outcome.group.id, "Harbour", one.wanted.mail)


async def test_it_passes_over_marks_that_hold_no_id(stage: Stage) -> None:
    one = wanted.work()
    marked = replace(one, wanted=replace(one.wanted, marks={**one.wanted.marks, "templateId": "x", "policyId": ""}))
    [outcome] = await stage.directory.ensure([marked])
    assert outcome.group is not None

    [seen] = await stage.guests.observe([reference(outcome.group.id)])

    assert seen is not None
    assert (seen.request_id, seen.template_id, seen.policy_id) == (one.wanted.request_id, None, None)


async def test_it_writes_nothing(stage: Stage) -> None:
    unknown = GroupId(uuid4())
    before = await stage.guests.changes(TENANT, "chamberlain_group", None)

    await stage.guests.observe([reference(HANDBOOK), reference(unknown)])

    after = await stage.guests.changes(TENANT, "chamberlain_group", before.cursor)
    assert (after.subjects, after.removed, after.is_complete) == ((), (), True)
    assert await stage.second_guests.observe([reference(unknown)]) == [None]


async def test_it_is_seen_by_another_worker_at_once(stage: Stage) -> None:
    for assignment in ASSIGNMENTS:
        [outcome] = await stage.guests.ensure([assign(PARTNERS, assignment)])
        assert await stage.second_guests.observe([reference(PARTNERS)]) == [outcome.subject]
