# SPDX-License-Identifier: Apache-2.0
"""The sample directory of the conformance suite."""

from uuid import UUID

from chamberlain.core.ids import GroupId, TenantId, UserId

TENANT = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
OTHER_TENANT = TenantId(UUID("e57a7e00-0000-4000-8000-000000000002"))

ADA = UserId(UUID("ada00000-0000-4000-8000-000000000001"))  # In Sales, with a valid licence for teams.
BEN = UserId(UUID("be000000-0000-4000-8000-000000000002"))  # In sales, in lower case; the licence is disabled.
CLEO = UserId(UUID("c1e00000-0000-4000-8000-000000000003"))  # In Finance, without any licence.
ZOE = UserId(UUID("20e00000-0000-4000-8000-000000000001"))  # Of the other tenant, in Sales too.
GIL = UserId(UUID("9e570000-0000-4000-8000-000000000001"))  # A guest, of partner.example.
HANA = UserId(UUID("9e570000-0000-4000-8000-000000000002"))  # A guest without an address.
OTHER_GUEST = UserId(UUID("9e570000-0000-4000-8000-00000000000f"))  # Of the other tenant.
NOBODY = UserId(UUID("00000000-0000-4000-8000-00000000dead"))

INTERNAL = "1abe1000-0000-4000-8000-000000000001"
CONFIDENTIAL = "1abe1000-0000-4000-8000-000000000002"
OTHER_LABEL = "1abe1000-0000-4000-8000-00000000000f"

OUTER = GroupId(
    UUID("94000000-0000-4000-8000-000000000001")
)  # Contains INNER, which contains BEN and, in a cycle, OUTER.
INNER = GroupId(UUID("94000000-0000-4000-8000-000000000002"))
OTHER_GROUP = GroupId(UUID("94000000-0000-4000-8000-00000000000f"))  # Of the other tenant, with ZOE.
PARTNERS = GroupId(UUID("94000000-0000-4000-8000-000000000003"))  # A public team of ADA's with GIL and HANA in it.
VISITORS = GroupId(UUID("94000000-0000-4000-8000-000000000004"))  # Dynamic: all guests.
HANDBOOK = GroupId(UUID("51730000-0000-4000-8000-000000000001"))  # The security group of a site, with GIL as owner.
OTHER_SITE = GroupId(UUID("51730000-0000-4000-8000-00000000000f"))  # Of the other tenant.

SECTION: dict[str, object] = {
    "users": [
        {
            "id": str(ADA),
            "tenant": str(TENANT),
            "displayName": "Ada Achterberg",
            "userPrincipalName": "ada@estate.example",
            "mail": "Ada@estate.example",
            "department": "Sales",
            "preferredLanguage": "de-CH",
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
        {
            "id": str(GIL),
            "tenant": str(TENANT),
            "displayName": "Gil Hartmann",
            "userPrincipalName": "gil_partner.example#EXT#@estate.example",
            "mail": "gil@partner.example",
            "userType": "Guest",
        },
        {
            "id": str(HANA),
            "tenant": str(TENANT),
            "displayName": "Hana Novak",
            "userPrincipalName": "hana#EXT#@estate.example",
            "userType": "Guest",
        },
        {
            "id": str(OTHER_GUEST),
            "tenant": str(OTHER_TENANT),
            "displayName": "Ines Castro",
            "userPrincipalName": "ines#EXT#@other.example",
            "userType": "Guest",
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
        {
            "id": str(PARTNERS),
            "tenant": str(TENANT),
            "displayName": "Partners",
            "mailNickname": "partners",
            "mail": "partners@estate.example",
            "mailEnabled": True,
            "visibility": "Public",
            "groupTypes": ["Unified"],
            "channels": ["General"],
            "owners": [str(ADA)],
            "members": [str(ADA), str(HANA), str(GIL)],
        },
        {
            "id": str(VISITORS),
            "tenant": str(TENANT),
            "displayName": "Visitors",
            "mailNickname": "visitors",
            "groupTypes": ["Unified", "DynamicMembership"],
            "membershipRule": 'user.userType -eq "Guest"',
            "owners": [str(ADA)],
        },
        {
            "id": str(HANDBOOK),
            "tenant": str(TENANT),
            "displayName": "Handbook readers",
            "mailNickname": "site-handbook",
            "owners": [str(ADA), str(GIL)],
        },
        {
            "id": str(OTHER_SITE),
            "tenant": str(OTHER_TENANT),
            "displayName": "Cellar",
            "mailNickname": "site-cellar",
            "owners": [str(OTHER_GUEST)],
        },
    ],
    "sites": [
        {
            "securityGroupId": str(HANDBOOK),
            "tenant": str(TENANT),
            "displayName": "Handbook",
            "webUrl": "https://sites.estate.example/handbook",
            "sharingCapability": "externalUserSharingOnly",
        },
        {
            "securityGroupId": str(OTHER_SITE),
            "tenant": str(OTHER_TENANT),
            "displayName": "Cellar",
            "webUrl": "https://sites.other.example/cellar",
        },
    ],
    "labels": [
        {"id": INTERNAL, "tenant": str(TENANT), "displayName": "Internal"},
        {"id": CONFIDENTIAL, "tenant": str(TENANT), "displayName": "Confidential"},
        {"id": OTHER_LABEL, "tenant": str(OTHER_TENANT), "displayName": "Other"},
    ],
}
