# SPDX-License-Identifier: Apache-2.0
"""Find requested mailboxes and teams that are lost, double or incomplete, by the servers of a suite alone."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deploy.suite.folder import DOMAIN, Suite
from deploy.suite.packages import POSTGRES
from deploy.suite.processes import run
from tests.suite.mail_client import MailClient
from tests.suite.suite_directory import SuiteDirectory

CHANNELS = frozenset({"General", "Planning"})
REPLY = "Thank you."
# Users with access to each mailbox, as its entry records it, and users of each team.
FULL_ACCESS, SEND_AS, OWNER, MEMBER = "ben", "cleo", "ada", "ben"
PEOPLE_OF_MAILBOX = {
    "chamberlainFullAccess": FULL_ACCESS,
    "chamberlainAutoMapped": FULL_ACCESS,
    "chamberlainSendAs": SEND_AS,
}
BOT = "chamberlain"
# The service does not grant the right to administer (`a`).
RIGHTS = {
    "lookup", "read", "write", "write-seen", "write-deleted", "insert", "post", "expunge", "create", "delete",
}  # fmt: skip
POWER_OF_OWNERS = 100
# The current state of rooms, and their aliases. Synapse has the rooms of interrupted creations as well.
_STATE = """
SELECT coalesce(json_agg(json_build_array(room_id, type, state_key, (json::json)->'content')), '[]')
FROM current_state_events JOIN event_json USING (event_id, room_id)
"""
_ALIASES = "SELECT coalesce(json_agg(json_build_array(room_alias, room_id)), '[]') FROM room_aliases"

Entry = Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request for a mailbox or a team, with the unique name of its object."""

    request_id: str
    name: str
    is_team: bool


@dataclass(slots=True)
class Room:
    """A room of Matrix: its state by type and key."""

    id: str
    state: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self._content("m.room.name").get("name", ""))

    @property
    def is_space(self) -> bool:
        return self._content("m.room.create").get("type") == "m.space"

    @property
    def members(self) -> frozenset[str]:
        """Names of the users in it."""
        return frozenset(
            key.removeprefix("@").removesuffix(f":{DOMAIN}")
            for (kind, key), content in self.state.items()
            if kind == "m.room.member" and content.get("membership") == "join"
        )

    def keys(self, kind: str) -> frozenset[str]:
        """State keys of a type, but for those whose content was removed."""
        return frozenset(key for (each, key), content in self.state.items() if each == kind and content.get("via"))

    def power(self, name: str) -> int:
        levels = self._content("m.room.power_levels")
        return int(levels.get("users", {}).get(f"@{name}:{DOMAIN}", levels.get("users_default", 0)))

    def _content(self, kind: str) -> dict[str, Any]:
        return self.state.get((kind, ""), {})


@dataclass(frozen=True, slots=True)
class Findings:
    """Problems, each with the name of its object."""

    lost: list[str] = field(default_factory=list)
    double: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)


def inspect(suite: Suite, wanted: Sequence[Wanted], rooms_before: Collection[str]) -> Findings:
    """Inspect all requested objects. `rooms_before` are the rooms from before the requests."""
    findings = Findings()
    with SuiteDirectory(suite) as directory:
        entries = directory.find("(objectClass=*)")
    by_request, by_text = _by_request(entries), _by_text(entries)
    found = {each: by_request[each.request_id.lower()] for each in wanted}
    findings.lost.extend(each.name for each, of_request in found.items() if not of_request)
    # Two entries of a request, or two with one name or address.
    texts = {each: {each.name, *(text for entry in found[each] for text in _texts(entry))} for each in wanted}
    findings.double.extend(each.name for each in wanted if any(len(by_text[text.lower()]) > 1 for text in texts[each]))
    mailboxes = {each.name: of_request[0] for each, of_request in found.items() if of_request and not each.is_team}
    teams = {each: of_request[0] for each, of_request in found.items() if of_request and each.is_team}
    findings.incomplete.extend(_problems_of_mailboxes(suite, mailboxes))
    rooms, aliases = {room.id: room for room in read_rooms(suite)}, _read_aliases(suite)
    known = set(rooms_before)
    for each, entry in teams.items():
        space_id = entry.get("chamberlainRoom", [""])[0]
        problems = _problems_of_team(each.request_id, space_id, rooms, aliases)
        findings.incomplete.extend(f"{each.name}: {problem}" for problem in problems)
        known |= {space_id, *(rooms[space_id].keys("m.space.child") if space_id in rooms else ())}
    # A room without users is the rest of an interrupted creation, and no user can find it.
    strays = [room for room in rooms.values() if room.id not in known and room.members]
    findings.double.extend(f"room {room.name!r} with {', '.join(sorted(room.members))}" for room in strays)
    return findings


def read_rooms(suite: Suite) -> Sequence[Room]:
    """Read all rooms of Synapse from its database."""
    rooms: dict[str, Room] = {}
    for room_id, kind, key, content in _query(suite, _STATE):
        rooms.setdefault(room_id, Room(room_id)).state[kind, key] = content
    return list(rooms.values())


def _read_aliases(suite: Suite) -> Mapping[str, str]:
    """Read the aliases of rooms, without their server."""
    return {alias.removeprefix("#").removesuffix(f":{DOMAIN}"): room_id for alias, room_id in _query(suite, _ALIASES)}


def _query(suite: Suite, statement: str) -> list[list[Any]]:
    data, port = suite.folder / "postgresql" / "data", str(suite.port("DATABASE"))
    psql = (POSTGRES / "psql", "-X", "-q", "-t", "-A", "-h", data, "-p", port, "-U", "postgres", "-d", "synapse")
    rows: list[list[Any]] = json.loads(run(*psql, "-c", statement, user="postgres"))
    return rows


def _by_request(entries: Sequence[Entry]) -> Mapping[str, list[Entry]]:
    found: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        for request_id in entry.get("chamberlainRequestId", []):
            found[request_id.lower()].append(entry)
    return found


def _by_text(entries: Sequence[Entry]) -> Mapping[str, set[str]]:
    """Return the names of entries by their names, addresses and request ids, in lower case."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for entry in entries:
        for text in _texts(entry):
            found[text.lower()].add(entry["dn"][0])
    return found


def _texts(entry: Entry) -> Iterator[str]:
    for attribute in ("displayName", "mail", "chamberlainAddress", "chamberlainRequestId"):
        yield from entry.get(attribute, [])


def _problems_of_mailboxes(suite: Suite, mailboxes: Mapping[str, Entry]) -> Iterator[str]:
    mail = MailClient(suite)
    listed, subscribed = mail.folders(FULL_ACCESS), mail.subscribed(FULL_ACCESS)
    uids = [entry["uid"][0] for entry in mailboxes.values()]
    for (name, entry), uid, (rights, script) in zip(mailboxes.items(), uids, mail.access(uids), strict=True):
        for attribute, person in PEOPLE_OF_MAILBOX.items():
            if [dn.partition(",")[0] for dn in entry.get(attribute, [])] != [f"uid={person}"]:
                yield f"{name}: {attribute} is not {person}"
        if rights != {FULL_ACCESS: RIGHTS}:
            yield f"{name}: the rights in Dovecot are {rights}"
        if f"shared/{uid}" not in listed:
            yield f"{name}: the mailbox is not listed"
        if f"shared/{uid}" not in subscribed:
            yield f"{name}: the mailbox is not subscribed"
        if REPLY not in script:
            yield f"{name}: the automatic reply is not active"


def _problems_of_team(
    request_id: str, space_id: str, rooms: Mapping[str, Room], aliases: Mapping[str, str]
) -> Iterator[str]:
    space = rooms.get(space_id)
    if space is None or not space.is_space:
        yield "the entry has no space"
        return
    if aliases.get(f"chamberlain-{request_id}") != space_id:
        yield "the alias is not that of the space"
    spaces = [room for room in rooms.values() if room.name == space.name and room.is_space and room.members]
    if len(spaces) != 1:
        yield f"{len(spaces)} spaces have its name"
    channels = [room for room in rooms.values() if space_id in room.keys("m.space.parent") and room.members]
    if sorted(room.name for room in channels) != sorted(CHANNELS):
        yield f"its channels are {sorted(room.name for room in channels)}"
    if space.keys("m.space.child") != {room.id for room in channels}:
        yield "the space has other rooms than its channels"
    for room in (space, *channels):
        if room.members != {OWNER, MEMBER, BOT}:
            yield f"{room.name} has the members {sorted(room.members)}"
        if room.power(OWNER) < POWER_OF_OWNERS:
            yield f"the owner has no power in {room.name}"
