# SPDX-License-Identifier: Apache-2.0
"""Templates of groups, teams and guests: what they name is there, what is in use stays, and secrets stay secret."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from chamberlain.auth.models import Caller, Edit
from chamberlain.core.errors import Conflict, Forbidden, NotFound, NotPossible, Stale, TryAgain, Unavailable
from chamberlain.core.ids import TemplateId, TenantId, UserId
from chamberlain.template_admin.models import COLLAB
from tests.estates import ADA, BEN, ESTATE, INTERNAL, NOBODY, OTHER_HOUSE, PROJECT_GROUP, TRACE, ZOE, Estate, caller_of
from tests.requests.request_services import PREFIX, administrator, application
from tests.template_admin.template_fixture import KEYRING, TemplateFixture, content

STAFF = "94000000-0000-4000-8000-000000000001"
NO_GUESTS = TemplateId(UUID("7e000000-0000-4000-8000-000000000021"))
PARTNERS = TemplateId(UUID("7e000000-0000-4000-8000-000000000022"))
NINETY_DAYS = "90110000-0000-4000-8000-000000000001"
ROOM = TemplateId(UUID("7e000000-0000-4000-8000-000000000003"))
NOTHING = "0000dead-0000-4000-8000-00000000000a"
USUAL = {"Project group", "Project team", "Confidential team", "Sales department"}
GUEST: dict[str, object] = {
    "kind": "guest",
    "name": "Suppliers",
    "guests": {"allowed": True},
    "sharingCapability": "existingGuests",
}
HOOK: dict[str, object] = {"url": "https://hooks.estate.example/chamberlain"}
OWN_SECRET = f"whsec_{'A' * 32}"
AUDIT = "SELECT action, payload FROM chamberlain.audit WHERE trace_id = $1 ORDER BY sequence"
SEALED = "SELECT sealed, number FROM chamberlain.webhook_secret WHERE template_id = $1"


@pytest.fixture
def template_fixture(estate: Estate) -> TemplateFixture:
    """The administrator of the example estate."""
    return TemplateFixture(estate, administrator(ADA), COLLAB)


def asker(user: UserId, tenant_id: TenantId = ESTATE) -> Caller:
    """A caller who may request groups."""
    return replace(caller_of(user, tenant_id), permissions=frozenset({f"{PREFIX}/collab/App.ReadWrite.All"}))


# Any: values on record are of every kind.
async def audited(estate: Estate) -> list[tuple[str, Any, Any]]:
    """The audit entries since the estate was loaded: actions with values before and after."""
    rows = [(str(action), json.loads(str(payload))) for action, payload in await estate.rows(AUDIT, TRACE)]
    return [(action, told["before"], told["after"]) for action, told in rows if told["actor"]["type"] != "system"]


async def assign(estate: Estate, **assigned: object) -> None:
    """Let the group of all staff have this template or policy, however it came by it."""
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute(
            "INSERT INTO chamberlain.subject (tenant_id, subject_id, type, display_name, name_key, is_team, "
            "member_ship_type, observed_at, template_id, policy_id) "
            "VALUES ($1, $2, 'group', 'All staff', 'all staff', false, 0, now(), $3, $4)",
            ESTATE,
            UUID(STAFF),
            assigned.get("template_id"),
            assigned.get("policy_id"),
        )


async def opened(estate: Estate, template_id: TemplateId) -> tuple[str, int] | None:
    """The secret that is kept for a template, and which one it is."""
    rows = await estate.rows(SEALED, template_id)
    if not rows:
        return None
    ((sealed, number),) = rows
    assert isinstance(sealed, bytes)
    assert isinstance(number, int)
    return KEYRING.open(sealed, f"{ESTATE} webhook_secret {template_id}").decode(), number


@pytest.mark.parametrize("kind", ["group", "team", "guest"])
async def test_it_works(estate: Estate, template_fixture: TemplateFixture, kind: str) -> None:
    made = await template_fixture.create(GUEST if kind == "guest" else {"kind": kind})
    record = await template_fixture.read(made)

    assert (record.stored.head.id, record.stored.head.kind) == (made, kind)
    assert record.created_by.display_name == "Ada Achterberg"
    ((action, before, after),) = await audited(estate)
    assert (action, before, after["kind"], "id" in after) == ("template.create", None, kind, False)


async def test_everything_that_it_names_may_be_there(template_fixture: TemplateFixture) -> None:
    made = await template_fixture.create(
        {
            "audience": {"users": [str(BEN)], "groups": [STAFF]},
            "owners": [str(ADA)],
            "labelId": INTERNAL.upper(),
            "memberShipType": 2,
            "membershipRule": 'user.department -eq "Sales"',
            "guestTemplateId": str(PARTNERS),
            "guestPolicyId": NINETY_DAYS,
            "approval": {"levels": [{"mode": "all", "approvers": [{"type": "group", "id": STAFF}]}]},
        }
    )

    template = content(await template_fixture.read(made))
    assert (template["guestPolicyId"], template["labelId"]) == (NINETY_DAYS, INTERNAL)


@pytest.mark.parametrize(
    ("members", "pointer", "code"),
    [
        ({"audience": {"users": [str(BEN), NOTHING]}}, "/audience/users/1", "userUnknown"),
        ({"audience": {"groups": [NOTHING]}}, "/audience/groups/0", "groupUnknown"),
        ({"audience": {"users": [str(ZOE)]}}, "/audience/users/0", "userUnknown"),
        ({"owners": [NOTHING]}, "/owners/0", "userUnknown"),
        ({"members": [str(ADA), NOTHING]}, "/members/1", "userUnknown"),
        ({"labelId": "Secret"}, "/labelId", "labelUnknown"),
        ({"membershipRule": "user.department is Sales"}, "/membershipRule", "ruleInvalid"),
        ({"memberShipType": 2}, "/membershipRule", "dynamicRuleMissing"),
        ({"naming": {"displayName": "PRJ"}}, "/naming/displayName", "ruleInvalid"),
        ({"naming": {"displayName": "{input} {input}"}}, "/naming/displayName", "ruleInvalid"),
        ({"naming": {"displayName": "{input} {team}"}}, "/naming/displayName", "ruleInvalid"),
        ({"naming": {"mailNickname": "prj"}}, "/naming/mailNickname", "ruleInvalid"),
        ({"channels": ["General"]}, "/channels", "propertyNotApplicable"),
        ({"customFields": [{"key": "a", "label": "A", "type": "choice"}]}, "/customFields/0/choices", "ruleInvalid"),
        ({"guestTemplateId": NOTHING}, "/guestTemplateId", "templateUnknown"),
        ({"guestTemplateId": str(PROJECT_GROUP)}, "/guestTemplateId", "templateOfOtherKind"),
        ({"guestPolicyId": NOTHING}, "/guestPolicyId", "policyUnknown"),
        (
            {
                "approval": {
                    "levels": [{"mode": "any", "approvers": [{"type": "manager"}, {"type": "user", "id": NOTHING}]}]
                }
            },
            "/approval/levels/0/approvers/1/id",
            "userUnknown",
        ),
        (
            {"approval": {"levels": [{"mode": "any", "approvers": [{"type": "group", "id": NOTHING}]}]}},
            "/approval/levels/0/approvers/0/id",
            "groupUnknown",
        ),
    ],
)
async def test_it_rejects_what_is_not_there_or_cannot_be(
    estate: Estate, template_fixture: TemplateFixture, members: dict[str, object], pointer: str, code: str
) -> None:
    with pytest.raises(NotPossible) as created:
        await template_fixture.create(members)
    with pytest.raises(NotPossible) as replaced:
        await template_fixture.replace(PROJECT_GROUP, members)

    for refused in (created, replaced):
        assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [(pointer, code)]
        assert all(fault.detail.rstrip(")").endswith(".") for fault in refused.value.faults)
    assert await audited(estate) == []


async def test_it_rejects_a_guest_template_and_a_policy_that_are_not_active(
    estate: Estate, template_fixture: TemplateFixture
) -> None:
    await template_fixture.replace(PARTNERS, {**GUEST, "active": False})
    await estate.rows(
        "UPDATE chamberlain.policy SET active = false WHERE policy_id = $1 RETURNING 1", UUID(NINETY_DAYS)
    )

    with pytest.raises(NotPossible) as refused:
        await template_fixture.create({"guestTemplateId": str(PARTNERS), "guestPolicyId": NINETY_DAYS})

    assert [fault.code for fault in refused.value.faults] == ["templateInactive", "policyInactive"]


async def test_it_rejects_everything_at_once(template_fixture: TemplateFixture) -> None:
    with pytest.raises(NotPossible) as refused:
        await template_fixture.replace(
            PROJECT_GROUP,
            {"kind": "team", "owners": [NOTHING], "guestPolicyId": NOTHING, "naming": {"displayName": "x"}},
        )

    assert {(fault.pointer, fault.code) for fault in refused.value.faults} == {
        ("/kind", "templateOfOtherKind"),
        ("/naming/displayName", "ruleInvalid"),
        ("/guestPolicyId", "policyUnknown"),
        ("/owners/0", "userUnknown"),
    }


async def test_without_the_directory_it_takes_only_what_names_nobody(
    estate: Estate, template_fixture: TemplateFixture
) -> None:
    estate.people.error = TryAgain(timedelta(seconds=3), "Busy.")

    await template_fixture.create()

    with pytest.raises(Unavailable) as refused:
        await template_fixture.create({"owners": [str(ADA)]})
    assert (refused.value.code, refused.value.after) == ("overloaded", timedelta(seconds=3))


async def test_a_replaced_one_is_on_record_with_what_changed_only(
    estate: Estate, template_fixture: TemplateFixture
) -> None:
    before = await template_fixture.read(PARTNERS)

    await template_fixture.replace(
        PARTNERS,
        {
            "kind": "guest",
            "name": "Partners",
            "guests": {"allowed": True, "allowedDomains": ["partner.example"]},
            "sharingCapability": "disabled",
        },
    )
    again = await template_fixture.replace(PARTNERS, content(await template_fixture.read(PARTNERS)))

    assert again.etag != before.etag
    assert await audited(estate) == [
        ("template.replace", {"sharingCapability": "existingGuests"}, {"sharingCapability": "disabled"})
    ]


async def test_a_secret_is_made_shown_once_and_kept_sealed(estate: Estate, template_fixture: TemplateFixture) -> None:
    first = await template_fixture.answered({"webhook": HOOK}, key="k")
    again = await template_fixture.answered({"webhook": HOOK}, key="k")
    made = TemplateId(UUID(first["id"]))

    assert first["secret"].startswith("whsec_")
    assert (again["id"], again["secret"]) == (first["id"], None)
    assert await opened(estate, made) == (first["secret"], 1)
    assert (await template_fixture.read(made)).secret_number == 1
    ((_, _, after),) = await audited(estate)
    assert after["webhook"] == {**HOOK, "active": True, "secret": "***"}
    everything = await estate.rows("SELECT payload::text FROM chamberlain.audit")
    everything += await estate.rows("SELECT answer::text FROM chamberlain.idempotency_key")
    everything += await estate.rows("SELECT content::text FROM chamberlain.template_revision")
    assert not [row for row in everything if "whsec_" in str(row)]


async def test_a_secret_stays_when_none_is_sent_and_goes_with_the_webhook(
    estate: Estate, template_fixture: TemplateFixture
) -> None:
    first = await template_fixture.answered({"webhook": HOOK})
    made = TemplateId(UUID(first["id"]))

    kept = await template_fixture.replace(made, {"webhook": {**HOOK, "active": False}})
    assert (kept.made_secret, await opened(estate, made)) == (None, (first["secret"], 1))

    gone = await template_fixture.replace(made, {})
    assert (gone.secret_number, await opened(estate, made)) == (None, None)

    new = await template_fixture.replace(made, {"webhook": HOOK})
    assert new.made_secret not in {None, first["secret"]}
    assert [after.get("webhook") for _, _, after in await audited(estate)] == [
        {**HOOK, "active": True, "secret": "***"},
        {**HOOK, "active": False},
        None,
        {**HOOK, "active": True, "secret": "***"},
    ]
    assert [before and before["webhook"] for _, before, _ in await audited(estate)] == [
        None,
        {**HOOK, "active": True},
        {**HOOK, "active": False, "secret": "***"},
        None,
    ]


async def test_another_secret_is_another_version_and_the_same_one_is_not(
    estate: Estate, template_fixture: TemplateFixture
) -> None:
    made = await template_fixture.create({"webhook": HOOK})
    before = await template_fixture.read(made)

    given = await template_fixture.replace(made, {"webhook": {**HOOK, "secret": OWN_SECRET}})
    same = await template_fixture.replace(made, {"webhook": {**HOOK, "secret": OWN_SECRET}})

    assert (given.made_secret, await opened(estate, made)) == (None, (OWN_SECRET, 2))
    assert before.etag != given.etag == same.etag
    assert [(action, told) for action, _, told in await audited(estate)][1:] == [
        ("template.replace", {"webhook": {**HOOK, "active": True, "secret": "***"}})
    ]
    with pytest.raises(Stale):
        await template_fixture.replace(made, {"webhook": HOOK}, Edit(frozenset({before.etag}), TRACE))


async def test_a_webhook_without_a_secret_gets_one_when_it_is_put_back(
    estate: Estate, template_fixture: TemplateFixture
) -> None:
    made = await template_fixture.create({"webhook": HOOK})
    await estate.rows("DELETE FROM chamberlain.webhook_secret RETURNING 1")

    put = await template_fixture.replace(made, {"webhook": HOOK})

    assert put.made_secret is not None
    assert (await template_fixture.read(made)).made_secret is None


async def test_a_deleted_one_takes_its_secret_along(estate: Estate, template_fixture: TemplateFixture) -> None:
    made = await template_fixture.create({"webhook": HOOK})

    await template_fixture.delete(made)

    assert await opened(estate, made) is None
    (_, (action, before, after)) = await audited(estate)
    assert (action, before["webhook"]["secret"], after) == ("template.delete", "***", None)


async def test_it_rejects_to_delete_a_guest_template_that_is_assigned(
    estate: Estate, template_fixture: TemplateFixture
) -> None:
    await assign(estate, template_id=NO_GUESTS)

    with pytest.raises(Conflict) as refused:
        await template_fixture.delete(NO_GUESTS)
    await template_fixture.replace(NO_GUESTS, {**GUEST, "active": False})

    assert (refused.value.code, refused.value.conflicting_id) == ("inUse", None)
    assert not (await template_fixture.read(NO_GUESTS)).stored.head.active
    ((assigned,),) = await estate.rows("SELECT template_id FROM chamberlain.subject WHERE tenant_id = $1", ESTATE)
    assert str(assigned) == str(NO_GUESTS)


async def test_it_rejects_to_delete_a_guest_template_that_another_one_names(template_fixture: TemplateFixture) -> None:
    naming = await template_fixture.create({"name": "With partners", "active": False, "guestTemplateId": str(PARTNERS)})

    with pytest.raises(Conflict) as refused:
        await template_fixture.delete(PARTNERS)
    assert (refused.value.code, refused.value.conflicting_id) == ("inUse", str(naming))
    assert '"With partners"' in refused.value.detail

    await template_fixture.replace(naming, {"name": "Without"})
    await template_fixture.delete(PARTNERS)
    with pytest.raises(NotFound):
        await template_fixture.read(PARTNERS)


async def test_one_is_not_named_and_deleted_at_the_same_time(template_fixture: TemplateFixture) -> None:
    named, deleted = await asyncio.gather(
        template_fixture.create({"guestTemplateId": str(PARTNERS)}),
        template_fixture.delete(PARTNERS),
        return_exceptions=True,
    )

    assert [type(each) for each in (named, deleted)] in ([UUID, Conflict], [NotPossible, type(None)])


@pytest.mark.parametrize(("tenant", "theirs"), [(ESTATE, ROOM), (OTHER_HOUSE, PARTNERS)])
async def test_it_rejects_ids_that_belong_elsewhere(estate: Estate, tenant: TenantId, theirs: TemplateId) -> None:
    template_fixture = TemplateFixture(estate, application("Collab.Config.ReadWrite.All", tenant), COLLAB)

    for attempt in (
        template_fixture.read(theirs),
        template_fixture.replace(theirs, {}),
        template_fixture.delete(theirs),
    ):
        with pytest.raises(NotFound):
            await attempt


async def test_another_tenant_cannot_name_its_guest_templates(estate: Estate) -> None:
    template_fixture = TemplateFixture(estate, application("Collab.Config.ReadWrite.All", OTHER_HOUSE), COLLAB)

    with pytest.raises(NotPossible) as refused:
        await template_fixture.create({"guestTemplateId": str(PARTNERS), "guestPolicyId": NINETY_DAYS})

    assert [fault.code for fault in refused.value.faults] == ["templateUnknown", "policyUnknown"]


@pytest.mark.parametrize(
    ("caller", "code"),
    [
        (administrator(BEN), "notAdministrator"),
        (asker(ADA), "insufficientScope"),
        (application("Collab.Manage.ReadWrite.All"), "insufficientScope"),
        (application("Mail.Config.ReadWrite.All"), "insufficientScope"),
    ],
)
async def test_it_rejects_who_may_not(estate: Estate, caller: Caller, code: str) -> None:
    template_fixture = TemplateFixture(estate, caller, COLLAB)

    for attempt in (
        template_fixture.create(),
        template_fixture.page(),
        template_fixture.read(PARTNERS),
        template_fixture.replace(PARTNERS, GUEST),
        template_fixture.delete(PARTNERS),
    ):
        with pytest.raises(Forbidden) as refused:
            await attempt
        assert refused.value.code == code


async def test_it_works_for_an_application_that_configures(estate: Estate) -> None:
    template_fixture = TemplateFixture(estate, application("Collab.Config.ReadWrite.All"), COLLAB)

    made = await template_fixture.create(GUEST)

    assert content(await template_fixture.read(made))["name"] == "Suppliers"
    assert {each.stored.head.kind for each in (await template_fixture.page()).items} == {"group", "team", "guest"}


async def test_everybody_is_offered_what_is_for_them_and_no_guest_template(
    estate: Estate, template_fixture: TemplateFixture
) -> None:
    await template_fixture.create({"name": "For Ben", "audience": {"users": [str(BEN)], "groups": []}})
    await template_fixture.create({"name": "For staff", "audience": {"users": [], "groups": [STAFF]}})
    await template_fixture.create({"name": "Not active", "active": False})

    offered = {user: await TemplateFixture(estate, asker(user), COLLAB).offered() - USUAL for user in (BEN, NOBODY)}

    assert offered == {BEN: {"For Ben", "For staff"}, NOBODY: set()}
    # Being an administrator does not make one of the audience.
    assert await template_fixture.offered() == {*USUAL, "For staff"}
    assert await TemplateFixture(estate, asker(ZOE, OTHER_HOUSE), COLLAB).offered() == {"House group"}
    for caller in (application("Collab.Config.ReadWrite.All"), application("Collab.Manage.ReadWrite.All")):
        with pytest.raises(Forbidden) as refused:
            await TemplateFixture(estate, caller, COLLAB).offered()
        assert refused.value.code == "applicationNotSupported"
