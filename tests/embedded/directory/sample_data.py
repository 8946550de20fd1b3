# SPDX-License-Identifier: Apache-2.0
"""Two tenants with a few users, as a section of a configuration file."""

from uuid import UUID

HOUSE = UUID("10000000-0000-4000-8000-000000000001")
OTHER_HOUSE = UUID("10000000-0000-4000-8000-000000000002")
ADA = UUID("20000000-0000-4000-8000-000000000001")
BEN = UUID("20000000-0000-4000-8000-000000000002")
CLEO = UUID("20000000-0000-4000-8000-000000000003")
GIL = UUID("20000000-0000-4000-8000-000000000004")
ZOE = UUID("20000000-0000-4000-8000-000000000005")
STAFF = UUID("30000000-0000-4000-8000-000000000001")
SALES = UUID("30000000-0000-4000-8000-000000000002")
CREW = UUID("30000000-0000-4000-8000-000000000003")
HANDBOOK = UUID("30000000-0000-4000-8000-000000000004")
OTHERS = UUID("30000000-0000-4000-8000-000000000005")


def user(id: UUID, tenant: UUID, name: str, **more: object) -> dict[str, object]:  # noqa: A002 - its name in the file.
    address = f"{name.partition(' ')[0].lower()}@{'house' if tenant == HOUSE else 'other'}.example"
    named = {"id": str(id), "tenant": str(tenant), "displayName": name, "userPrincipalName": address}
    return {**named, "mail": address, **more}


def group(id: UUID, tenant: UUID, name: str, **more: object) -> dict[str, object]:  # noqa: A002 - its name in the file.
    nickname = name.lower().replace(" ", "-")
    return {"id": str(id), "tenant": str(tenant), "displayName": name, "mailNickname": nickname, **more}


USERS = [
    user(ADA, HOUSE, "Ada Achterberg", department="Sales", givenName="Ada"),
    user(BEN, HOUSE, "Ben Okafor", department="Sales"),
    user(CLEO, HOUSE, "Cleo Marchetti", department="Finance", accountEnabled=False),
    user(GIL, HOUSE, "Gil Hartmann", userType="Guest"),
    user(ZOE, OTHER_HOUSE, "Zoe Adeyemi", department="Sales"),
]
GROUPS = [
    group(
        STAFF,
        HOUSE,
        "All staff",
        mail="all-staff@house.example",
        description="Everybody, and the crew",
        mailEnabled=True,
        securityEnabled=False,
        groupTypes=["Unified"],
        visibility="Public",
        label="internal",
        owners=[str(ADA)],
        members=[str(ADA), str(BEN), str(CREW)],
        extensions={"house_group": {"requestId": "ABC-1", "templateId": "t"}},
    ),
    group(
        SALES,
        HOUSE,
        "Sales",
        groupTypes=["Unified", "DynamicMembership"],
        membershipRule='user.department -eq "Sales"',
        owners=[str(CLEO)],
    ),
    group(CREW, HOUSE, "Crew", channels=["General", "Deck"], groupTypes=["Unified"], members=[str(CLEO)]),
    group(HANDBOOK, HOUSE, "Handbook"),
    group(OTHERS, OTHER_HOUSE, "All staff", mail="all-staff@other.example", members=[str(ZOE)]),
]
SITES = [
    {
        "securityGroupId": str(HANDBOOK),
        "tenant": str(HOUSE),
        "displayName": "Handbook",
        "webUrl": "https://sites.house.example/handbook",
    }
]
LABELS = [{"id": "internal", "tenant": str(HOUSE), "displayName": "Internal"}]
SECTION: dict[str, object] = {"users": USERS, "groups": GROUPS, "sites": SITES, "labels": LABELS}
