# SPDX-License-Identifier: Apache-2.0
"""The people and groups of the example estate as LDIF, with their ids, and one mailbox outside."""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from uuid import UUID

import yaml

from chamberlain.embedded.directory.estate import Estate, Group, User, read_estate
from deploy.suite.folder import OUTSIDE_DOMAIN, TENANT

_ATTRIBUTES: Mapping[str, str] = {
    "given_name": "givenName",
    "department": "departmentNumber",
    "job_title": "title",
    "company_name": "o",
    "office_location": "physicalDeliveryOfficeName",
    "employee_id": "employeeNumber",
    "mobile_phone": "mobile",
    "street_address": "street",
    "postal_code": "postalCode",
    "city": "l",
    "state": "st",
    "preferred_language": "preferredLanguage",
}
Values = Mapping[str, str | Sequence[str]]


def password_of(name: str) -> str:
    """Return the password of a person of the suite."""
    return f"{name}-secret"


def name_of(user: User) -> str:
    """Return the name for signing in: the local part of the address."""
    return re.sub(r"[^a-z0-9.-]", ".", (user.mail or user.user_principal_name).partition("@")[0].lower())


def people_ldif(base: str) -> str:
    """Return the entries of the estate below a root. Names are unique in the estate."""
    text = files("chamberlain.embedded.example").joinpath("estate.yaml").read_text(encoding="utf-8")
    estate = read_estate(yaml.safe_load(text)["directory"])
    users = [user for user in estate.users if str(user.tenant) == TENANT]
    names = {user.id: _dn(user, base) for user in users}
    entries = [
        *((names[user.id], _person(user, names)) for user in users),
        *((f"cn={group.mail_nickname},ou=groups,{base}", _group(group, names)) for group in _groups(estate)),
        (f"ou=outside,{base}", {"objectClass": "organizationalUnit", "ou": "outside"}),
        (f"uid=vera,ou=outside,{base}", _outside()),
    ]
    return "\n".join(_entry(dn, values) for dn, values in entries)


def _dn(user: User, base: str) -> str:
    return f"uid={name_of(user)},ou={'guests' if user.user_type == 'Guest' else 'people'},{base}"


def _person(user: User, names: Mapping[UUID, str]) -> Values:
    optional = {ldap: value for ours, ldap in _ATTRIBUTES.items() if (value := getattr(user, ours)) is not None}
    guest = {"employeeType": "Guest"} if user.user_type == "Guest" else {}
    manager = {} if user.manager is None else {"manager": names[user.manager]}
    return {
        "objectClass": "inetOrgPerson",
        "entryUUID": str(user.id),
        "uid": name_of(user),
        "cn": user.display_name,
        "sn": user.surname or user.display_name,
        "displayName": user.display_name,
        "mail": user.mail or user.user_principal_name,
        "userPassword": password_of(name_of(user)),
        **optional,
        **guest,
        **manager,
    }


def _groups(estate: Estate) -> Iterator[Group]:
    for group in estate.groups:
        if str(group.tenant) == TENANT and group.mail is not None and group.membership_rule is None:
            yield group


def _group(group: Group, names: Mapping[UUID, str]) -> Values:
    people = dict.fromkeys((*group.owners, *group.members))
    return {
        "objectClass": ("groupOfNames", "chamberlainGroup"),
        "entryUUID": str(group.id),
        "cn": group.mail_nickname,
        "displayName": group.display_name,
        "mail": group.mail or "",
        "owner": [names[each] for each in group.owners],
        "member": [names[each] for each in people],
    }


def _outside() -> Values:
    return {
        "objectClass": "inetOrgPerson",
        "uid": "vera",
        "cn": "Vera",
        "sn": "Vera",
        "mail": f"vera@{OUTSIDE_DOMAIN}",
        # The people of the tenant do not include it.
        "employeeType": "service",
        "userPassword": password_of("vera"),
    }


def _entry(dn: str, values: Values) -> str:
    lines = [f"dn: {dn}"]
    for name, value in values.items():
        for each in (value,) if isinstance(value, str) else value:
            is_plain = each.isascii() and each.isprintable() and not each.startswith((" ", ":", "<"))
            lines.append(f"{name}: {each}" if is_plain else f"{name}:: {base64.b64encode(each.encode()).decode()}")
    return "\n".join(lines) + "\n"
