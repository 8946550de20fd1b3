# SPDX-License-Identifier: Apache-2.0
"""The conformance suite's stage of an open suite: a suite with all servers, and one for the other tenant.

The second one has no Matrix server. Both get the sample directory again before each test, with the same ids: the Relax
Rules control lets the root account write entryUUID.
"""

import base64
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

from chamberlain.core.errors import ConnectionBroken
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.directory.opensuite.attributes import PERSON_ATTRIBUTES
from chamberlain.directory.opensuite.capabilities import suite_capabilities
from chamberlain.directory.opensuite.connection import Suite, open_suite
from chamberlain.directory.opensuite.rules import member_url
from chamberlain.directory.opensuite.settings import SuiteSettings, read_suite
from chamberlain.directory.routed import Route
from deploy.suite.connection import FILE, environment_of
from deploy.suite.folder import TENANT as FOLDER_NAME
from deploy.suite.folder import Suite as Folder
from tests.directory.sample_directory import OTHER_TENANT, SECTION, TENANT
from tests.suite.suite_folders import started_suite

_PARTS: Mapping[TenantId, tuple[str, ...]] = {
    TENANT: ("slapd", "dovecot", "postgresql", "synapse"),
    OTHER_TENANT: ("slapd", "dovecot"),
}
# The abilities of both suites.
ABILITIES = suite_capabilities(has_teams=False, forgets_addresses=False).abilities
# Groups first: the server would remove each deleted member from them.
_BRANCHES = ("groups", "mailboxes", "guests", "people")
# A space that no server has: the tests of this suite look at entries, and those of tests/suite at rooms.
_ABSENT_SPACE = "!absent:estate.example"
# The sample has two properties that inetOrgPerson does not.
_USER_NAME, _LICENSED = "carLicense", "businessCategory"

Values = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class SampleSuite:
    """A running suite of one tenant, and its root account."""

    tenant_id: TenantId
    folder: Folder
    settings: SuiteSettings

    def reset(self) -> None:
        """Load the sample directory again."""
        base = self.folder.base
        for branch in _BRANCHES:
            self._run("ldapdelete", "-r", f"ou={branch},{base}")
        entries = [(f"ou={each},{base}", {"objectClass": "organizationalUnit", "ou": each}) for each in _BRANCHES]
        self.add([*entries, *_sample(self)])

    def add(self, entries: Sequence[tuple[str, Values]]) -> None:
        """Add entries, also with attributes that only the server writes."""
        self._run("ldapadd", "-e", "!relax", text="\n".join(_ldif(dn, values) for dn, values in entries))

    def replace(self, entry_id: UUID, attribute: str, value: str) -> None:
        """Replace an attribute of an entry by hand."""
        dn = self.dn(entry_id)
        lines = (f"dn: {dn}", "changetype: modify", f"replace: {attribute}", f"{attribute}: {value}")
        self._run("ldapmodify", "-e", "!relax", text="\n".join(lines) + "\n")

    def delete(self, entry_id: UUID) -> None:
        """Delete an entry by hand."""
        self._run("ldapdelete", self.dn(entry_id))

    def dn(self, entry_id: UUID) -> str:
        """Return the name of an entry."""
        [found] = self.find(f"(entryUUID={entry_id})", "entryUUID")
        return found["dn"][0]

    def find(self, filter_: str, *attributes: str) -> list[dict[str, list[str]]]:
        """Find entries with their attributes, in plain text only."""
        text = self._run("ldapsearch", "-LLL", "-o", "ldif-wrap=no", "-b", self.folder.base, filter_, *attributes)
        found: list[dict[str, list[str]]] = []
        for part in text.split("\n\n"):
            lines = [line.partition(": ") for line in part.splitlines() if ": " in line]
            entry: dict[str, list[str]] = {}
            for name, _, value in lines:
                entry.setdefault(name, []).append(value)
            found += [entry] if entry else []
        return found

    def _run(self, program: str, *arguments: str, text: str | None = None) -> str:
        values = self.folder.values
        account = ("-x", "-H", values["LDAP_URL"], "-D", f"cn=root,{self.folder.base}", "-w")
        done = subprocess.run(
            [program, *account, values["LDAP_ROOT_PASSWORD"], *arguments],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


class SuiteRoutes:
    """Routes of both tenants to their suites."""

    def __init__(self, suites: Mapping[TenantId, Suite]) -> None:
        self._elsewhere = MappingProxyType({tenant_id: Route(each.adapters) for tenant_id, each in suites.items()})

    @property
    def elsewhere(self) -> Mapping[TenantId, Route]:
        return self._elsewhere

    async def refused(self, tenant_id: TenantId, error: ConnectionBroken) -> None:
        """A connection that breaks in a test is a fault of the test."""
        raise AssertionError(f"The suite of {tenant_id} refuses its connection.") from error


@contextmanager
def started_suites() -> Iterator[Mapping[TenantId, SampleSuite]]:
    """Start both suites in folders of their own, and end them."""
    with ExitStack() as started:
        suites = {}
        for tenant_id, parts in _PARTS.items():
            folder = started.enter_context(started_suite(parts))
            suites[tenant_id] = SampleSuite(tenant_id, folder, _settings(folder, tenant_id))
        yield suites


def opened(suites: Mapping[TenantId, SampleSuite]) -> Mapping[TenantId, Suite]:
    """Open the adapters of both tenants in this event loop."""
    return {tenant_id: open_suite(each.settings) for tenant_id, each in suites.items()}


def accounts(suites: Mapping[TenantId, SampleSuite]) -> Mapping[UserId, bool]:
    """Return the guests of both tenants, and whether they can sign in."""
    found = [entry for each in suites.values() for entry in each.find("(employeeType=Guest)", "entryUUID", "+")]
    return {UserId(UUID(each["entryUUID"][0])): "pwdAccountLockedTime" not in each for each in found}


def remove_group(suites: Mapping[TenantId, SampleSuite], tenant_id: TenantId, group_id: GroupId) -> None:
    """Delete a group by hand."""
    suites[tenant_id].delete(group_id)


def record_activity(suites: Mapping[TenantId, SampleSuite], user_id: UserId) -> datetime:
    """Sign a user in to the directory, which records the time (`lastbind on`)."""
    suite = suites[TENANT]
    suite.replace(user_id, "userPassword", "secret")
    server = suite.folder.values["LDAP_URL"]
    command = ("ldapwhoami", "-x", "-H", server, "-D", suite.dn(user_id), "-w", "secret")
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    [entry] = suite.find(f"(entryUUID={user_id})", "pwdLastSuccess")
    written = entry["pwdLastSuccess"][0].partition(".")[0].rstrip("Z")
    return datetime.strptime(written, "%Y%m%d%H%M%S").replace(tzinfo=UTC)


def _settings(folder: Folder, tenant_id: TenantId) -> SuiteSettings:
    files = Path(environment_of(folder)["CHAMBERLAIN_CONNECTION_FILES"])
    found = read_suite(folder.values["LDAP_URL"], files / FOLDER_NAME, FILE)
    layout = replace(
        found.layout,
        licensed=f"({_LICENSED}=teams)",
        person={**PERSON_ATTRIBUTES, "userPrincipalName": _USER_NAME},
    )
    return replace(found, layout=layout, homeserver=found.homeserver if "synapse" in _PARTS[tenant_id] else None)


def _sample(suite: SampleSuite) -> list[tuple[str, Values]]:
    users = [each for each in _section("users") if each["tenant"] == str(suite.tenant_id)]
    groups = [each for each in _section("groups") if each["tenant"] == str(suite.tenant_id)]
    base = suite.folder.base
    dns = {each["id"]: _person_dn(each, base) for each in users}
    dns |= {each["id"]: f"cn={each['mailNickname']},ou=groups,{base}" for each in groups}
    return [
        *((dns[each["id"]], _person(each, dns)) for each in users),
        *((dns[each["id"]], _group(each, dns, suite)) for each in groups),
    ]


def _section(name: str) -> list[dict[str, Any]]:
    found = SECTION[name]
    assert isinstance(found, list)
    return found


def _name(user: Mapping[str, Any]) -> str:
    return str(user["displayName"]).partition(" ")[0].lower()


def _person_dn(user: Mapping[str, Any], base: str) -> str:
    return f"uid={_name(user)},ou={'guests' if user.get('userType') == 'Guest' else 'people'},{base}"


def _person(user: Mapping[str, Any], dns: Mapping[str, str]) -> Values:
    plans = [plan for each in user.get("licenses", ()) for plan in each["servicePlans"]]
    is_licensed = {"servicePlanName": "TEAMS1"} in plans
    optional = {
        "mail": user.get("mail"),
        "departmentNumber": user.get("department"),
        "preferredLanguage": user.get("preferredLanguage"),
        "employeeType": user.get("userType"),
        "manager": dns.get(user.get("manager", "")),
        _LICENSED: "teams" if is_licensed else None,
    }
    return {
        "objectClass": "inetOrgPerson",
        "entryUUID": user["id"],
        "uid": _name(user),
        "cn": user["displayName"],
        "sn": user["displayName"].partition(" ")[2],
        "displayName": user["displayName"],
        _USER_NAME: user["userPrincipalName"],
        **{name: each for name, each in optional.items() if each is not None},
    }


def _group(group: Mapping[str, Any], dns: Mapping[str, str], suite: SampleSuite) -> Values:
    owners = [dns[each] for each in group.get("owners", ())]
    values: dict[str, str | Sequence[str]] = {
        "entryUUID": group["id"],
        "cn": group["mailNickname"],
        "displayName": group["displayName"],
        "owner": owners,
        "chamberlainMemberShip": group.get("visibility", "Private").lower(),
    }
    if mail := group.get("mail"):
        values |= {"mail": mail, "chamberlainAddress": mail}
    if "channels" in group:
        values["chamberlainRoom"] = _ABSENT_SPACE
    if rule := group.get("membershipRule"):
        url = member_url(rule, suite.settings.layout)
        return {**values, "objectClass": ("groupOfURLs", "chamberlainGroup"), "memberURL": url}
    # A group without members does not exist here. The sample has one with owners alone.
    members = [dns[each] for each in group.get("members", ())] or owners
    return {**values, "objectClass": ("groupOfNames", "chamberlainGroup"), "member": members}


def _ldif(dn: str, values: Values) -> str:
    lines = [f"dn: {dn}"]
    for name, value in values.items():
        listed = (value,) if isinstance(value, str) else value
        lines += [f"{name}:: {base64.b64encode(each.encode()).decode()}" for each in listed]
    return "\n".join(lines) + "\n"
