# SPDX-License-Identifier: Apache-2.0
"""Query options of lists and objects: `$select`, `$filter`, `$search`, `$orderby`, `$top`, `$count` and pages."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from tests.microsoft365.fake.answers import Answer, Call, bad_request, unsupported_query
from tests.microsoft365.fake.filters import parse_filter
from tests.microsoft365.recorder import description

Json: TypeAlias = Any
Object = Mapping[str, Json]

# paging.md: 100 by default, at most 999 for directory objects.
_DEFAULT_PAGE: Final = 100
_LARGEST_PAGE: Final = 999
# "Support for sorting by properties of Azure AD (directory) objects" (aad-advanced-queries.md): by default.
_SORTABLE: Final = frozenset({"displayName", "userPrincipalName"})
_CLAUSE: Final = re.compile(r'"(?P<name>\w+):(?P<text>[^"]*)"')

# "This property isn't returned for a user who never signed in" (resources/user.md).
_ABSENT: Final = frozenset({"signInActivity"})
# Properties without $select. A user: user-list.md. A group: group-upsert.md, example 1, without `uniqueName`, which
# GET returns only with $select; `assignedLabels` likewise (resources/group.md).
USER_DEFAULT: Final = (
    "businessPhones", "displayName", "givenName", "id", "jobTitle", "mail", "mobilePhone", "officeLocation",
    "preferredLanguage", "surname", "userPrincipalName",
)  # fmt: skip
GROUP_DEFAULT: Final = (
    "id", "deletedDateTime", "classification", "createdDateTime", "description", "displayName", "expirationDateTime",
    "groupTypes", "isAssignableToRole", "mail", "mailEnabled", "mailNickname", "membershipRule",
    "membershipRuleProcessingState", "onPremisesSyncEnabled", "preferredDataLocation", "preferredLanguage",
    "proxyAddresses", "renewedDateTime", "resourceBehaviorOptions", "resourceProvisioningOptions", "securityEnabled",
    "securityIdentifier", "theme", "visibility", "onPremisesProvisioningErrors",
)  # fmt: skip
DEFAULTS: Final[Mapping[str, tuple[str, ...]]] = {"user": USER_DEFAULT, "group": GROUP_DEFAULT}
COLLECTIONS: Final = frozenset(
    {
        "assignedLabels", "assignedLicenses", "assignedPlans", "businessPhones", "groupTypes",
        "onPremisesProvisioningErrors", "otherMails", "proxyAddresses", "resourceBehaviorOptions",
        "resourceProvisioningOptions",
    }
)  # fmt: skip


def selected(call: Call) -> tuple[str, ...]:
    """Return the names of `$select`."""
    return tuple(name.strip() for name in call.query.get("$select", "").split(",") if name.strip())


def project(entity: Object, kind: str, names: Sequence[str]) -> dict[str, Json]:
    """Return the selected properties of an object, or those that are returned by default."""
    chosen = names or DEFAULTS.get(kind) or [name for name in entity if not name.startswith("@")]
    known = type_properties(kind)
    annotation = {"@odata.type": entity["@odata.type"]} if "@odata.type" in entity else {}
    shown = (name for name in chosen if name in known or ("_" in name and name in entity))
    return annotation | {name: _value(entity, name) for name in shown if name not in _ABSENT or entity.get(name)}


@cache
def type_properties(kind: str) -> frozenset[str]:
    """List the properties of a type by its short name."""
    return description(is_strict=True).type_properties(kind)


def _value(entity: Object, name: str) -> Json:
    if "_" in name and isinstance(entity.get(name), Mapping):
        # extensibility-overview.md, "Retrieve the schema extension property".
        return {"@odata.type": "#microsoft.graph.ComplexExtensionValue", **entity[name]}
    return entity.get(name, [] if name in COLLECTIONS else None)


def answer_object(call: Call, entity: Object, kind: str, context: str) -> Answer:
    """Answer one object."""
    body = {"@odata.context": f"{call.base}/$metadata#{context}/$entity", **project(entity, kind, selected(call))}
    return Answer(200, body)


def answer_list(
    call: Call, entities: Iterable[Object], kind: str, context: str, *, is_cast: bool = False, typed: bool = False
) -> Answer:
    """Answer a page of a list.

    `is_cast` is a list of one type among the members of a group, whose filters always need the advanced parameters.
    `typed` adds the type of each object, as lists of directory objects have it.
    """
    refuse_unsupported(call)
    found = list(entities)
    if text := call.query.get("$filter"):
        parsed = parse_filter(text, kind.capitalize())
        if (parsed.needs_advanced or is_cast) and not call.is_advanced:
            raise unsupported_query(
                "Operator or property is only supported with 'ConsistencyLevel: eventual' and '$count=true'."
            )
        found = [each for each in found if parsed.matches(each)]
    if "$search" in call.query:
        found = _search(call, found)
    if "$orderby" in call.query:
        found = _sort(call, found)
    return _page(call, found, kind, context, typed=typed)


def refuse_unsupported(call: Call) -> None:
    """Refuse `$expand` and `$skip`, which the fake does not have, and unknown options."""
    for name in ("$expand", "$skip", "$apply"):
        if name in call.query:
            raise bad_request(f"Query option '{name}' is not supported here.")


def _search(call: Call, found: list[Object]) -> list[Object]:
    if not call.has_consistency_level:
        raise unsupported_query(
            "Request with $search query parameter only works through MSGraph with a special request header: "
            "'ConsistencyLevel: eventual'"
        )
    clauses = list(_CLAUSE.finditer(call.query["$search"]))
    rest = _CLAUSE.sub("", call.query["$search"]).split()
    if not clauses or not {*rest} <= {"AND", "OR"} or len(rest) != len(clauses) - 1:
        raise bad_request("Syntax error: character '\"' is not valid at this position.")
    groups: list[list[re.Match[str]]] = [[clauses[0]]]
    for word, clause in zip(rest, clauses[1:], strict=True):
        if word == "OR":
            groups.append([clause])
        else:
            groups[-1].append(clause)
    return [each for each in found if any(all(_has(each, clause) for clause in group) for group in groups)]


def _has(entity: Object, clause: re.Match[str]) -> bool:
    """Match words of a display name or description by their start, other properties by theirs ($search page)."""
    value = str(entity.get(clause["name"]) or "").lower()
    starts = re.split(r"[^\w]+", value) if clause["name"] in {"displayName", "description"} else [value]
    return all(any(start.startswith(word) for start in starts) for word in clause["text"].lower().split())


def _sort(call: Call, found: list[Object]) -> list[Object]:
    name, _, direction = call.query["$orderby"].partition(" ")
    # "Use of $filter and $orderby in the same query always requires advanced query parameters."
    if name not in _SORTABLE or ({"$filter", "$search"} & {*call.query} and not call.is_advanced):
        raise unsupported_query(f"Sorting not supported for current query: {name}.")
    return sorted(found, key=lambda each: str(each.get(name) or "").lower(), reverse=direction.strip() == "desc")


def _page(call: Call, found: list[Object], kind: str, context: str, *, typed: bool) -> Answer:
    size = page_size(call)
    start = read_skip_token(call)
    page, names = found[start : start + size], selected(call)
    values = []
    for each in page:
        own = str(each.get("@kind", kind))
        annotation = {"@odata.type": f"#microsoft.graph.{own}"} if typed else {}
        values.append({**annotation, **project(each, own, names)})
    body: dict[str, Json] = {"@odata.context": f"{call.base}/$metadata#{context}"}
    # Without the header, "silently ignores the $count query parameter" (aad-advanced-queries.md).
    if call.is_advanced:
        body["@odata.count"] = len(found)
    if start + size < len(found):
        body["@odata.nextLink"] = next_link(call, start + size)
    return Answer(200, {**body, "value": values})


def page_size(call: Call) -> int:
    """Return the size of a page. Raises GraphError for sizes that Graph refuses."""
    text = call.query.get("$top", str(_DEFAULT_PAGE))
    if not text.isdigit() or not 0 < int(text) <= _LARGEST_PAGE:
        raise bad_request(f"Invalid page size specified: '{text}'. Must be between 1 and {_LARGEST_PAGE} inclusive.")
    return int(text)


def next_link(call: Call, start: int) -> str:
    """Return the link to the page from an offset. The token is opaque."""
    token = base64.urlsafe_b64encode(f"skip:{start}".encode()).decode()
    kept = "&".join(f"{name}={quoted(value)}" for name, value in call.query.items() if name != "$skiptoken")
    return call.link(call.path, "&".join(filter(None, [kept, f"$skiptoken={token}"])))


def quoted(text: str) -> str:
    """Encode the characters of a value that have a meaning in a query."""
    return re.sub(r"[^\w$',().:/-]", lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)


def read_skip_token(call: Call) -> int:
    """Read the offset of a page."""
    if "$skiptoken" not in call.query:
        return 0
    try:
        return int(base64.urlsafe_b64decode(call.query["$skiptoken"]).decode().removeprefix("skip:"))
    except ValueError as error:
        raise bad_request("Invalid skip token.", "Directory_ExpiredPageToken") from error
