# SPDX-License-Identifier: Apache-2.0
"""Attributes of users and groups, and the discovery documents (RFC 7643)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

# A JSON object of SCIM. Values are checked against the attributes below.
Json: TypeAlias = dict[str, object]

Type = Literal["string", "boolean", "dateTime", "reference", "complex"]
Mutability = Literal["readWrite", "readOnly", "immutable"]

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Schema"
_RESOURCE_TYPE = "urn:ietf:params:scim:schemas:core:2.0:ResourceType"
_CONFIG = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"

# The number of resources of a page: the default and the limit.
DEFAULT_COUNT, MOST_COUNT = 100, 200


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute with its characteristics (RFC 7643, 2.2).

    `parts` are its sub-attributes. `references` are the resource types that a reference can name, and `canonical` the
    values that are suggested. Texts with an index of the database have fewer characters than others.
    """

    name: str
    description: str
    type: Type = "string"
    is_multiple: bool = False
    is_required: bool = False
    is_case_exact: bool = False
    mutability: Mutability = "readWrite"
    returned: Literal["default", "always"] = "default"
    uniqueness: Literal["none", "server"] = "none"
    parts: tuple["Attribute", ...] = ()
    references: tuple[str, ...] = ()
    canonical: tuple[str, ...] = ()
    most_characters: int = 1024

    def part(self, name: str) -> "Attribute | None":
        """Find a sub-attribute. Names are case-insensitive."""
        return _find(self.parts, name)


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """A resource type with its attributes and those of its extension."""

    name: str
    endpoint: str
    description: str
    schema: str
    attributes: tuple[Attribute, ...]
    extension: str | None = None
    extension_attributes: tuple[Attribute, ...] = ()

    def attribute(self, name: str) -> Attribute | None:
        """Find an attribute of the core schema, or a common one."""
        return _find((*COMMON, *self.attributes), name)

    def extension_attribute(self, name: str) -> Attribute | None:
        """Find an attribute of the extension."""
        return _find(self.extension_attributes, name)


def _find(attributes: tuple[Attribute, ...], name: str) -> Attribute | None:
    lowered = name.lower()
    return next((one for one in attributes if one.name.lower() == lowered), None)


def _values(name: str, description: str, *more: Attribute, most_characters: int = 1024) -> Attribute:
    parts = (
        Attribute("value", f"The value of one of the {description}.", most_characters=most_characters),
        *more,
        Attribute("display", "A name for display."),
        Attribute("type", "The purpose, such as work or home."),
        Attribute("primary", "Whether it is the preferred one. At most one is.", "boolean"),
    )
    return Attribute(name, f"The {description} of the user.", "complex", is_multiple=True, parts=parts)


COMMON = (
    Attribute("schemas", "The schemas of the resource.", "reference", is_multiple=True, is_required=True,
              is_case_exact=True, mutability="readOnly", returned="always"),
    Attribute("id", "The id in the directory.", is_case_exact=True, mutability="readOnly", returned="always",
              uniqueness="server"),
    Attribute("externalId", "The id in the system of the client.", is_case_exact=True, most_characters=256),
    Attribute("meta", "Type, times, address and version.", "complex", mutability="readOnly", parts=(
        Attribute("resourceType", "The resource type.", is_case_exact=True, mutability="readOnly"),
        Attribute("created", "The time of creation.", "dateTime", mutability="readOnly"),
        Attribute("lastModified", "The time of the last change by SCIM.", "dateTime", mutability="readOnly"),
        Attribute("location", "The address.", "reference", is_case_exact=True, mutability="readOnly"),
        Attribute("version", "The entity tag.", is_case_exact=True, mutability="readOnly"),
    )),
)  # fmt: skip

USERS = ResourceKind(
    "User", "/Users", "People of the directory", USER,
    (
        Attribute("userName", "The user principal name.", is_required=True, uniqueness="server", most_characters=320),
        Attribute("name", "The parts of the name.", "complex", parts=(
            Attribute("formatted", "The whole name."),
            Attribute("familyName", "The family name."),
            Attribute("givenName", "The given name."),
            Attribute("middleName", "The middle names."),
            Attribute("honorificPrefix", "Titles before the name."),
            Attribute("honorificSuffix", "Suffixes after the name."),
        )),
        Attribute("displayName", "The name for display.", most_characters=256),
        Attribute("nickName", "The casual name."),
        Attribute("profileUrl", "The address of a profile.", "reference", references=("external",)),
        Attribute("title", "The job title."),
        Attribute("userType", "Guest for a guest. Any other text is a member."),
        Attribute("preferredLanguage", "The preferred language, such as en-GB."),
        Attribute("locale", "The locale for dates and numbers."),
        Attribute("timezone", "The time zone, such as Europe/Oslo."),
        Attribute("active", "Whether the account is enabled.", "boolean"),
        _values("emails", "e-mail addresses", most_characters=320),
        _values("phoneNumbers", "phone numbers"),
        Attribute("addresses", "The postal addresses of the user.", "complex", is_multiple=True, parts=(
            Attribute("formatted", "The whole address."),
            Attribute("streetAddress", "Street and number."),
            Attribute("locality", "The city."),
            Attribute("region", "The state or region."),
            Attribute("postalCode", "The postal code."),
            Attribute("country", "The country."),
            Attribute("type", "The purpose, such as work or home."),
            Attribute("primary", "Whether it is the preferred one. At most one is.", "boolean"),
        )),
        Attribute("groups", "The groups with the user as direct member.", "complex", is_multiple=True,
                  mutability="readOnly", parts=(
            Attribute("value", "The id of the group.", mutability="readOnly"),
            Attribute("$ref", "The address of the group.", "reference", mutability="readOnly", references=("Group",)),
            Attribute("display", "The name of the group.", mutability="readOnly"),
            Attribute("type", "direct.", mutability="readOnly"),
        )),
    ),
    ENTERPRISE,
    (
        Attribute("employeeNumber", "The employee id."),
        Attribute("costCenter", "The cost centre."),
        Attribute("organization", "The company."),
        Attribute("division", "The division."),
        Attribute("department", "The department."),
        Attribute("manager", "The manager.", "complex", parts=(
            Attribute("value", "The id of the manager.", is_case_exact=True),
            Attribute("$ref", "The address of the manager.", "reference", references=("User",)),
            Attribute("displayName", "The name of the manager.", mutability="readOnly"),
        )),
    ),
)  # fmt: skip

GROUPS = ResourceKind(
    "Group", "/Groups", "Groups of the directory", GROUP,
    (
        Attribute("displayName", "The name.", is_required=True, most_characters=256),
        Attribute("members", "The direct members.", "complex", is_multiple=True, parts=(
            Attribute("value", "The id of the member.", is_case_exact=True, mutability="immutable"),
            Attribute("$ref", "The address of the member.", "reference", mutability="immutable",
                      references=("User", "Group")),
            Attribute("type", "User or Group.", mutability="immutable", canonical=("User", "Group")),
            Attribute("display", "The name of the member.", mutability="readOnly"),
        )),
    ),
)  # fmt: skip

KINDS: Mapping[str, ResourceKind] = MappingProxyType(
    {kind.endpoint.removeprefix("/"): kind for kind in (USERS, GROUPS)}
)


def schemas(root: str) -> list[Json]:
    """Return the schemas of users, groups and the extension.

    `root` is the address of `/scim/v2`.
    """
    described = [
        (USER, "User", "A user of the directory", USERS.attributes),
        (ENTERPRISE, "EnterpriseUser", "An employee", USERS.extension_attributes),
        (GROUP, "Group", "A group of the directory", GROUPS.attributes),
    ]
    return [
        {
            "schemas": [_SCHEMA],
            "id": urn,
            "name": name,
            "description": description,
            "attributes": [_characteristics(one) for one in attributes],
            "meta": {"resourceType": "Schema", "location": f"{root}/Schemas/{urn}"},
        }
        for urn, name, description, attributes in described
    ]


def _characteristics(attribute: Attribute) -> Json:
    shown: Json = {
        "name": attribute.name,
        "type": attribute.type,
        "multiValued": attribute.is_multiple,
        "description": attribute.description,
        "required": attribute.is_required,
        "mutability": attribute.mutability,
        "returned": attribute.returned,
    }
    if attribute.type == "complex":
        shown["subAttributes"] = [_characteristics(part) for part in attribute.parts]
    else:
        shown |= {"caseExact": attribute.is_case_exact, "uniqueness": attribute.uniqueness}
    if attribute.canonical:
        shown["canonicalValues"] = list(attribute.canonical)
    if attribute.type == "reference":
        shown["referenceTypes"] = list(attribute.references)
    return shown


def resource_types(root: str) -> list[Json]:
    """Return the two resource types."""
    return [
        {
            "schemas": [_RESOURCE_TYPE],
            "id": kind.name,
            "name": kind.name,
            "endpoint": kind.endpoint,
            "description": kind.description,
            "schema": kind.schema,
            "schemaExtensions": [] if kind.extension is None else [{"schema": kind.extension, "required": False}],
            "meta": {"resourceType": "ResourceType", "location": f"{root}/ResourceTypes/{kind.name}"},
        }
        for kind in KINDS.values()
    ]


def service_provider_config(root: str) -> Json:
    """Return the supported parts of the protocol."""
    return {
        "schemas": [_CONFIG],
        "patch": {"supported": True},
        "bulk": {"supported": False, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": True, "maxResults": MOST_COUNT},
        "changePassword": {"supported": False},
        "sort": {"supported": True},
        "etag": {"supported": True},
        "authenticationSchemes": [
            {
                "type": "oauthbearertoken",
                "name": "OAuth bearer token",
                "description": "A token of the identity platform, as of RFC 6750.",
                "specUri": "https://www.rfc-editor.org/info/rfc6750",
            }
        ],
        "meta": {"resourceType": "ServiceProviderConfig", "location": f"{root}/ServiceProviderConfig"},
    }
