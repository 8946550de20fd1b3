"""Who lives in the directory that the conformance suite runs against; every adapter's stage is filled with it."""

from uuid import UUID

from chamberlain.rules.ids import GroupId, TenantId, UserId

TENANT = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
OTHER_TENANT = TenantId(UUID("e57a7e00-0000-4000-8000-000000000002"))

ADA = UserId(UUID("ada00000-0000-4000-8000-000000000001"))  # In Sales, with a valid licence for teams.
BEN = UserId(UUID("be000000-0000-4000-8000-000000000002"))  # In sales, written small; the licence is switched off.
CLEO = UserId(UUID("c1e00000-0000-4000-8000-000000000003"))  # In Finance, without any licence.
ZOE = UserId(UUID("20e00000-0000-4000-8000-000000000001"))  # Of the other tenant, in Sales too.
NOBODY = UserId(UUID("00000000-0000-4000-8000-00000000dead"))

INTERNAL = "1abe1000-0000-4000-8000-000000000001"
OTHER_LABEL = "1abe1000-0000-4000-8000-00000000000f"

OUTER = GroupId(UUID("94000000-0000-4000-8000-000000000001"))  # Holds INNER, which holds BEN and, in a circle, OUTER.
INNER = GroupId(UUID("94000000-0000-4000-8000-000000000002"))
OTHER_GROUP = GroupId(UUID("94000000-0000-4000-8000-00000000000f"))  # Of the other tenant, holds ZOE.

SECTION: dict[str, object] = {
    "users": [
        {
            "id": str(ADA),
            "tenant": str(TENANT),
            "displayName": "Ada Achterberg",
            "userPrincipalName": "ada@estate.example",
            "mail": "Ada@estate.example",
            "department": "Sales",
            "licenses": [{"skuPartNumber": "BUSINESS", "servicePlans": [{"servicePlanName": "TEAMS1"}]}],
        },
        {
            "id": str(BEN),
            "tenant": str(TENANT),
            "displayName": "Ben Okafor",
            "userPrincipalName": "ben@estate.example",
            "department": "sales",
            "manager": str(ADA),
            "licenses": [
                {
                    "skuPartNumber": "BUSINESS",
                    "servicePlans": [
                        {"servicePlanName": "TEAMS1", "provisioningStatus": "Disabled"},
                        {"servicePlanName": "MAIL1"},
                    ],
                }
            ],
        },
        {
            "id": str(CLEO),
            "tenant": str(TENANT),
            "displayName": "Cleo Marchetti",
            "userPrincipalName": "cleo@estate.example",
            "mail": "cleo@estate.example",
            "department": "Finance",
        },
        {
            "id": str(ZOE),
            "tenant": str(OTHER_TENANT),
            "displayName": "Zoe Adeyemi",
            "userPrincipalName": "zoe@other.example",
            "mail": "zoe@other.example",
            "department": "Sales",
        },
    ],
    "groups": [
        {
            "id": str(OUTER),
            "tenant": str(TENANT),
            "displayName": "All staff",
            "mailNickname": "all-staff",
            "mail": "all-staff@estate.example",
            "mailEnabled": True,
            "groupTypes": ["Unified"],
            "owners": [str(ADA)],
            "members": [str(ADA), str(INNER)],
        },
        {
            "id": str(INNER),
            "tenant": str(TENANT),
            "displayName": "Some staff",
            "mailNickname": "some-staff",
            "members": [str(BEN), str(OUTER)],
        },
        {
            "id": str(OTHER_GROUP),
            "tenant": str(OTHER_TENANT),
            "displayName": "All others",
            "mailNickname": "all-others",
            "mail": "all-others@other.example",
            "members": [str(ZOE)],
        },
    ],
    "labels": [
        {"id": INTERNAL, "tenant": str(TENANT), "displayName": "Internal"},
        {"id": OTHER_LABEL, "tenant": str(OTHER_TENANT), "displayName": "Other"},
    ],
}
