# SPDX-License-Identifier: Apache-2.0
"""Operations of PATCH on a resource, and the validation of whole resources."""

import pytest

from chamberlain.embedded.directory.scim.documents import MOST_MEMBERS, MOST_VALUES, read_resource, select
from chamberlain.embedded.directory.scim.errors import ScimFault
from chamberlain.embedded.directory.scim.patch import PATCH_SCHEMA, apply_patch, read_patch
from chamberlain.embedded.directory.scim.schemas import ENTERPRISE, GROUP, GROUPS, USER, USERS, Json, ResourceKind

pytestmark = pytest.mark.pure

WORK = {"value": "ada@house.example", "type": "work", "primary": True}
HOME = {"value": "ada@home.example", "type": "home"}
ADA: Json = {
    "schemas": [USER, ENTERPRISE],
    "userName": "ada",
    "name": {"givenName": "Ada", "familyName": "A"},
    "active": True,
    "emails": [WORK, HOME],
    ENTERPRISE: {"department": "Sales"},
}
CREW: Json = {"schemas": [GROUP], "displayName": "Crew", "members": [{"value": "1"}, {"value": "2"}]}


def patched(document: Json, *operations: Json, kind: ResourceKind = USERS) -> Json:
    body = {"schemas": [PATCH_SCHEMA], "Operations": list(operations)}
    return apply_patch(document, read_patch(body, kind), kind)


@pytest.mark.parametrize(
    ("operation", "changes"),
    [
        ({"op": "replace", "path": "active", "value": False}, {"active": False}),
        # As the provisioning service of Entra ID writes it.
        ({"op": "Replace", "path": "active", "value": "False"}, {"active": False}),
        ({"op": "replace", "value": {"active": False, "nickName": "A"}}, {"active": False, "nickName": "A"}),
        ({"op": "add", "value": {"name.givenName": "Adele"}}, {"name": {"givenName": "Adele", "familyName": "A"}}),
        (
            {"op": "replace", "path": "name", "value": {"givenName": "B"}},
            {"name": {"givenName": "B", "familyName": "A"}},
        ),
        ({"op": "replace", "path": "NAME.familyname", "value": "B"}, {"name": {"givenName": "Ada", "familyName": "B"}}),
        ({"op": "remove", "path": "name.familyName"}, {"name": {"givenName": "Ada"}}),
        ({"op": "remove", "path": "name"}, {"name": None}),
        ({"op": "replace", "path": "name", "value": None}, {"name": None}),
        (
            {"op": "replace", "path": 'emails[type eq "work"].value', "value": "a@b.example"},
            {"emails": [{**WORK, "value": "a@b.example"}, HOME]},
        ),
        (
            {"op": "replace", "path": 'emails[type eq "home"]', "value": {"value": "h"}},
            {"emails": [WORK, {"value": "h"}]},
        ),
        ({"op": "remove", "path": 'emails[type eq "work"]'}, {"emails": [HOME]}),
        (
            {"op": "remove", "path": 'emails[type eq "work"].primary'},
            {"emails": [{"value": WORK["value"], "type": "work"}, HOME]},
        ),
        ({"op": "remove", "path": 'emails[type eq "none"]'}, {}),
        ({"op": "remove", "path": "emails"}, {"emails": None}),
        ({"op": "add", "path": "emails", "value": [HOME]}, {}),
        (
            {"op": "add", "path": "emails", "value": {"value": "x", "primary": True}},
            {"emails": [{**WORK, "primary": False}, HOME, {"value": "x", "primary": True}]},
        ),
        (
            {"op": "add", "path": 'emails[type eq "other"].value', "value": "o"},
            {"emails": [WORK, HOME, {"type": "other", "value": "o"}]},
        ),
        (
            {"op": "add", "path": 'phoneNumbers[type eq "mobile"].value', "value": "1"},
            {"phoneNumbers": [{"type": "mobile", "value": "1"}]},
        ),
        ({"op": "replace", "path": f"{ENTERPRISE}:department", "value": "Law"}, {ENTERPRISE: {"department": "Law"}}),
        (
            {"op": "add", "path": f"{ENTERPRISE}:manager", "value": "m1"},
            {ENTERPRISE: {"department": "Sales", "manager": {"value": "m1"}}},
        ),
        (
            {"op": "replace", "path": ENTERPRISE, "value": {"division": "D"}},
            {ENTERPRISE: {"department": "Sales", "division": "D"}},
        ),
        ({"op": "remove", "path": ENTERPRISE}, {ENTERPRISE: None, "schemas": [USER]}),
        ({"op": "remove", "path": f"{ENTERPRISE}:department"}, {ENTERPRISE: None, "schemas": [USER]}),
    ],
)
def test_it_works(operation: Json, changes: Json) -> None:
    expected = {name: value for name, value in {**ADA, **changes}.items() if value is not None}

    assert patched(ADA, operation) == expected


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ({"op": "add", "path": "members", "value": [{"value": "3"}, {"value": "1"}]}, ["1", "2", "3"]),
        ({"op": "remove", "path": 'members[value eq "1"]'}, ["2"]),
        ({"op": "remove", "path": "members", "value": [{"value": "2"}]}, ["1"]),
        ({"op": "replace", "path": "members", "value": [{"value": "4"}]}, ["4"]),
        ({"op": "remove", "path": "members"}, []),
    ],
)
def test_members_are_added_and_removed(operation: Json, members: list[str]) -> None:
    after = patched(CREW, operation, kind=GROUPS)

    assert [one["value"] for one in after.get("members", [])] == members  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("operation", "scim_type"),
    [
        ({"op": "move", "path": "active"}, "invalidSyntax"),
        ({"op": "replace", "path": "hat", "value": "x"}, "invalidPath"),
        ({"op": "replace", "path": "emails[hat eq 1]", "value": {}}, "invalidFilter"),
        ({"op": "replace", "path": 'name[givenName eq "x"]', "value": {}}, "invalidPath"),
        ({"op": "replace", "path": 'emails[type eq "none"].value', "value": "x"}, "noTarget"),
        ({"op": "remove"}, "noTarget"),
        ({"op": "replace", "path": "active"}, "invalidValue"),
        ({"op": "replace", "path": "active", "value": "perhaps"}, "invalidValue"),
        ({"op": "replace", "path": "title", "value": 4}, "invalidValue"),
        ({"op": "replace", "path": "title", "value": "a\x00"}, "invalidValue"),
        ({"op": "replace", "path": "title", "value": "a" * 1025}, "invalidValue"),
        ({"op": "replace", "path": "userName", "value": None}, "invalidValue"),
        ({"op": "remove", "path": "userName"}, "mutability"),
        ({"op": "replace", "path": "id", "value": "1"}, "mutability"),
        ({"op": "replace", "path": "meta.version", "value": "1"}, "mutability"),
        ({"op": "add", "path": "groups", "value": [{"value": "1"}]}, "mutability"),
        (
            {
                "op": "add",
                "path": "emails",
                "value": [{"value": "x", "primary": True}, {"value": "y", "primary": True}],
            },
            "invalidValue",
        ),
    ],
)
def test_an_operation_that_is_not_possible_is_refused(operation: Json, scim_type: str) -> None:
    with pytest.raises(ScimFault) as refused:
        patched(ADA, operation)

    assert (refused.value.status, refused.value.scim_type) == (400, scim_type)


def test_the_resource_is_the_same_after_a_refused_operation() -> None:
    before = repr(ADA)

    with pytest.raises(ScimFault):
        patched(ADA, {"op": "remove", "path": "emails"}, {"op": "remove", "path": "userName"})

    assert repr(ADA) == before


def test_unknown_and_read_only_attributes_of_a_body_are_ignored() -> None:
    body = {"schemas": [USER], "USERNAME": "ada", "id": "1", "hat": "x", "emails": [], "groups": [{"value": "1"}]}

    assert read_resource(body, USERS) == {"schemas": [USER], "userName": "ada"}


@pytest.mark.parametrize(
    ("body", "scim_type"),
    [
        ([], "invalidSyntax"),
        ({"userName": "ada"}, "invalidSyntax"),
        ({"schemas": [GROUP], "userName": "ada"}, "invalidSyntax"),
        ({"schemas": [USER]}, "invalidValue"),
        ({"schemas": [USER], "userName": ""}, "invalidValue"),
        ({"schemas": [USER], "userName": "ada", ENTERPRISE: "x"}, "invalidValue"),
        ({"schemas": [USER], "userName": "ada", "emails": ["\ud800"]}, "invalidValue"),
    ],
)
def test_a_body_that_is_not_valid_is_refused(body: object, scim_type: str) -> None:
    with pytest.raises(ScimFault) as refused:
        read_resource(body, USERS)

    assert refused.value.scim_type == scim_type


@pytest.mark.parametrize(
    ("wanted", "unwanted", "shown"),
    [
        (["userName"], [], {"userName": "ada"}),
        (["emails.value"], [], {"emails": [{"value": WORK["value"]}, {"value": HOME["value"]}]}),
        (["name.givenName", "name.familyName"], [], {"name": {"givenName": "Ada", "familyName": "A"}}),
        ([f"{ENTERPRISE}:department"], [], {ENTERPRISE: {"department": "Sales"}}),
        (
            [],
            ["emails", "name.familyName", "schemas", "active", ENTERPRISE],
            {"userName": "ada", "name": {"givenName": "Ada"}},
        ),
    ],
)
def test_the_response_has_the_wanted_attributes(wanted: list[str], unwanted: list[str], shown: Json) -> None:
    assert select(ADA, USERS, wanted, unwanted) == {"schemas": ADA["schemas"], **shown}


def members(*names: str) -> list[Json]:
    return [{"value": name} for name in names]


@pytest.mark.parametrize(
    ("operations", "left"),
    [
        # One operation for each member: they are joined, and the order of different ones stays.
        ([{"op": "add", "path": "members", "value": [{"value": name}]} for name in "34"], "1234"),
        ([{"op": "remove", "path": f'members[value eq "{name}"]'} for name in "12"], ""),
        ([{"op": "remove", "path": "members", "value": {"value": name}} for name in "12"], ""),
        (
            [
                {"op": "add", "path": "members", "value": [{"value": "3"}]},
                {"op": "remove", "path": 'members[value eq "3"]'},
                {"op": "remove", "path": "members", "value": [{"value": "1"}]},
                {"op": "add", "path": "members", "value": [{"value": "1"}]},
            ],
            "21",
        ),
        ([{"op": "remove", "path": "members"}, {"op": "remove", "path": "members", "value": [{"value": "1"}]}], ""),
    ],
)
def test_operations_about_single_members_are_joined(operations: list[Json], left: str) -> None:
    assert patched(CREW, *operations, kind=GROUPS).get("members", []) == members(*left)


def test_thousand_operations_about_members_of_a_large_group_fit_into_one_call() -> None:
    document: Json = {**CREW, "members": members(*map(str, range(MOST_MEMBERS)))}

    found = patched(
        document,
        *[Json(op="remove", path=f'members[value eq "{number}"]') for number in range(500)],
        *[Json(op="add", path="members", value=members(f"new {number}")) for number in range(500)],
        kind=GROUPS,
    )

    assert len(found["members"]) == MOST_MEMBERS  # type: ignore[arg-type]


def test_removal_by_a_filter_of_all_values_is_linear() -> None:
    document: Json = {**CREW, "members": [{**one, "type": "User"} for one in members(*map(str, range(MOST_MEMBERS)))]}

    assert "members" not in patched(document, {"op": "remove", "path": 'members[type eq "User"]'}, kind=GROUPS)


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "members[" + " or ".join(f'type eq "{one}"' for one in range(100)) + "]"},
        {"op": "add", "value": {f'members[type eq "{one}"]': {"value": "3"} for one in range(100)}},
    ],
)
def test_operations_that_compare_too_many_values_are_refused(operation: Json) -> None:
    document: Json = {**CREW, "members": members(*map(str, range(MOST_MEMBERS)))}

    with pytest.raises(ScimFault) as caught:
        patched(document, operation, kind=GROUPS)

    assert caught.value.status == 413


def test_values_of_a_user_are_limited_over_several_operations() -> None:
    half = MOST_VALUES // 2
    parts = [
        Json(op="add", path="emails", value=members(*[f"{part} {number}" for number in range(half)]))
        for part in range(2)
    ]

    with pytest.raises(ScimFault) as caught:
        patched(ADA, *parts)

    assert caught.value.scim_type == "invalidValue"
