# SPDX-License-Identifier: Apache-2.0
"""Find objects by name, address or end of id.

A whole id needs no call, except that of a template, whose kind is checked.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice, product
from uuid import UUID

from chamberlain.cli.calls import Area, Call, Service
from chamberlain.cli.errors import ExitCode, ended
from chamberlain.cli.output import Record
from chamberlain.core.text import CONTROLS
from chamberlain_client import operations
from chamberlain_client.errors import Forbidden
from chamberlain_client.operations import Operation, Server

# Objects of a list that are searched for the end of an id, newest first. They are five pages.
_SEARCHED = 1000
# Maximum length of the filter `q` of the API.
_LONGEST = 256
# Digits of the short form of an id. So many are unique in practice, and a search ends at the first one.
_SHORT_FORM = 8
# At least four digits of the end of an id, with or without its hyphens.
_END = re.compile(r"[0-9a-f-]*[0-9a-f]{4}", re.IGNORECASE)
# Directory operation that the SDK does not have.
_FIND_USER = Operation("findUser", "GET", "/v1.0/users", Server.GRAPH)


@dataclass(frozen=True, slots=True)
class Listed:
    """Lists of objects, and the members that name them.

    `filters_prefix`: the list has a parameter `q`, a prefix of these names. `searched` objects are searched for the end
    of an id; None means all. `queries` read the list, whose results may overlap.
    """

    noun: str
    operations: tuple[Operation, ...]
    names: tuple[str, ...] = ()
    id: str = "id"
    filters_prefix: bool = False
    searched: int | None = _SEARCHED
    queries: tuple[dict[str, str], ...] = ({},)


# Approvers find the requests of other users only among those that wait for their decision.
REQUESTS = Listed(
    "request", (operations.LIST_REQUESTS,), ("displayName",), id="requestId", queries=({"toDecide": "true"}, {})
)
MAILBOXES = Listed(
    "mailbox",
    (operations.LIST_MAILBOXES,),
    ("primarySmtpAddress", "alias", "name", "displayName"),
    filters_prefix=True,
)
POLICIES = Listed("policy", (operations.LIST_POLICIES,), ("name",), searched=None)
FINDINGS = Listed("finding", (operations.LIST_FINDINGS,))
ADOPTIONS = Listed("adoption", (operations.LIST_ADOPTIONS,))
DELIVERIES = Listed("delivery", (operations.LIST_DELIVERIES,))
# Objects that findings and rows of the audit trail are about.
SUBJECTS = Listed(
    "group, site or mailbox",
    (operations.LIST_MANAGED_GROUPS, operations.LIST_MANAGED_SITES, operations.LIST_MAILBOXES),
    ("displayName", "mail", "siteUrl", "primarySmtpAddress"),
    filters_prefix=True,
    searched=None,
)
TENANTS = Listed("tenant", (), ("name",), searched=None)
HELD_JOBS = Listed("held job", (), searched=None)
TEMPLATES = Listed(
    "template", (operations.LIST_MAILBOX_TEMPLATES, operations.LIST_COLLAB_TEMPLATES), ("name",), searched=None
)

# Groups of commands that have another name than their objects.
_LISTS = {"held job": "jobs", "group, site or mailbox": "group"}
# Objects that templates of each kind are for, and the command that takes such a template.
_FOR = {
    "shared": ("shared mailboxes", "mailbox create"),
    "equipment": ("equipment", "mailbox create"),
    "room": ("rooms", "mailbox create"),
    "group": ("groups", "group create"),
    "team": ("teams", "team create"),
    "guest": ("guest rules", "group assign"),
}


def is_id(written: str) -> bool:
    """Check whether the text is an id."""
    try:
        UUID(written)
    except ValueError:
        return False
    return "-" in written


def id_of(service: Service, written: str, listed: Listed, *, option: str | None = None) -> str:
    """Find the id of an object.

    `option` is where the user named it.
    """
    if is_id(written):
        return written
    return str(find(service, written, listed, option=option)[listed.id])


def find(service: Service, written: str, listed: Listed, *, option: str | None = None) -> Record:
    """Find an object that is named by anything but its id."""
    return _only(_candidates(service, written, listed), written, listed, place=_place(option))


def pick(records: Sequence[Record], written: str, listed: Listed, *, option: str | None = None) -> str:
    """Find the id of an object among all of its kind."""
    return str(_only(_matching(records, written, listed), written, listed, place=_place(option))[listed.id])


def request_id_of(call: Call, written: str, *, option: str | None = None) -> str:
    """Find the id of a request."""
    if is_id(written):
        return written
    with call.service(Area.REQUESTS) as service:
        return id_of(service, written, REQUESTS, option=option)


def template_id(service: Service, written: str, kinds: Sequence[str], lists: Sequence[Operation]) -> str:
    """Find the id of a template of these kinds.

    The first list has them. A template of another kind, also of the other lists, is reported as such. The service
    decides about an id that no list has.
    """
    listed = Listed("template", (lists[0],), ("name",), searched=None)
    fitting: list[Record] = []
    others: list[Record] = []
    for record in service.items(lists[0], {}, None):
        (fitting if record["kind"] in kinds else others).append(record)
    if is_id(written):
        # The API creates a team for the template of a team, also where a group was wanted.
        if found := [record for record in others if record["id"] == written.lower()]:
            raise ended(ExitCode.NOT_THERE, _wrong_kind(found[0], kinds))
        return written
    matching = _matching(fitting, written, listed)
    if not matching.records:
        for operation in lists[1:]:
            with suppress(Forbidden):
                others += service.items(operation, {}, None)
        if of_another_kind := _matching(others, written, listed).records:
            raise ended(ExitCode.NOT_THERE, _wrong_kind(of_another_kind[0], kinds))
    return str(_only(matching, written, listed, place=_place("--template"))["id"])


def _wrong_kind(record: Record, kinds: Sequence[str]) -> str:
    *first, last = (_FOR[kind][0] for kind in kinds)
    wanted = f"{', '.join(first)} or {last}" if first else last
    of, command = _FOR.get(str(record["kind"]), (str(record["kind"]), "template list"))
    sentence = f"--template: '{record['name']}' is a template for {of}, and this command takes one for {wanted}."
    return f"{sentence} Use: chamberlain {command}"


@dataclass(frozen=True, slots=True)
class _Found:
    """Objects that match, and others with a similar name."""

    named: Sequence[Record]
    ending: Sequence[Record]
    similar: Sequence[str]

    @property
    def records(self) -> Sequence[Record]:
        """All matches.

        A requester chooses a name, which can be the short form of the id of another request. So no match wins.
        """
        return [*self.named, *(each for each in self.ending if each not in self.named)]


def ids_of_managed(service: Service, written: str, operation: Operation) -> list[str]:
    """Find the ids of groups or sites with a name or address.

    Case is ignored.
    """
    found = _candidates(service, written, managed("group", operation))
    return [str(each["id"]) for each in found.named]


def managed(noun: str, operation: Operation) -> Listed:
    """Return the list of groups or of sites."""
    return Listed(noun, (operation,), ("displayName", "mail", "siteUrl"), filters_prefix=True, searched=None)


def _candidates(service: Service, written: str, listed: Listed) -> _Found:
    # No object has such a name, as from an empty variable of a shell. The API refuses it as a filter.
    if not written.strip() or len(written) > _LONGEST or CONTROLS.search(written):
        return _matching((), written, listed)
    if not listed.filters_prefix:
        return _matching(_newest(service, listed, written), written, listed)
    if "@" in written or "://" in written:
        # Only the list of mailboxes filters by address.
        query = {"q": written} if listed is MAILBOXES else {}
        return _matching(_all(service, listed, query), written, listed)
    if _END.fullmatch(written):
        found = _matching(_newest(service, listed, written), written, listed)
        if found.records:
            return found
    found = _matching(_all(service, listed, {"q": written}), written, listed)
    if found.records:
        return found
    # The filter of mailboxes does not know display names.
    rest = _newest(service, listed, written) if listed is MAILBOXES else _all(service, listed, {"q": written[:2]})
    return _matching(rest, written, listed)


def _all(service: Service, listed: Listed, query: dict[str, str]) -> list[Record]:
    return [each for operation in listed.operations for each in service.items(operation, query, None)]


def _newest(service: Service, listed: Listed, written: str) -> Iterator[Record]:
    """Read the newest objects.

    A short form ends the search at the first match.
    """
    for operation, query in product(listed.operations, listed.queries):
        for record in service.items(operation, query, listed.searched):
            yield record
            if len(_digits(written)) >= _SHORT_FORM and _ends(record, written, listed):
                return


def _matching(records: Iterable[Record], written: str, listed: Listed) -> _Found:
    """Select objects by name and by the end of the id."""
    known = list({each[listed.id]: each for each in records}.values())
    wanted = _comparable(written)
    named = [each for each in known if wanted in map(_comparable, _names(each, listed))]
    ending = [each for each in known if _ends(each, written, listed)]
    if named or ending:
        return _Found(named, ending, similar=())
    names = {_comparable(name): name for each in known for name in _names(each, listed)}
    return _Found((), (), similar=[names[near] for near in get_close_matches(wanted, names, 2)])


def _only(found: _Found, written: str, listed: Listed, *, place: str) -> Record:
    if len(found.records) == 1:
        return found.records[0]
    if not found.records:
        raise ended(ExitCode.NOT_THERE, f"{place}{_missing(found, written, listed)}")
    shared = f"{len(found.records)} {_plural(listed.noun)} {_sharing(found, written)}"
    candidates = sorted(found.records, key=lambda each: _described(each, listed))
    lines = [f"  {each[listed.id]}  {_described(each, listed)}".rstrip() for each in islice(candidates, 10)]
    more = ["  ..."] if len(found.records) > len(lines) else []
    raise ended(ExitCode.FAILED, f"{place}{shared}", *lines, *more, "Write the id of one.")


def _missing(found: _Found, written: str, listed: Listed) -> str:
    see = f"Run chamberlain {_LISTS.get(listed.noun, listed.noun)} list to see all."
    if found.similar:
        return f"There is no {listed.noun} '{written}'. Did you mean {' or '.join(found.similar)}? {see}"
    if _END.fullmatch(written):
        newest = "" if listed.searched is None else f" among the newest {listed.searched:,}"
        return f"There is no {listed.noun} with an id that ends in {written}{newest}. {see}"
    return f"There is no {listed.noun} '{written}'. {see}"


def _sharing(found: _Found, written: str) -> str:
    if found.named and found.ending:
        return f"have the name '{written}' or an id that ends in it:"
    return f"have the name '{written}':" if found.named else f"have an id that ends in {written}:"


def _described(record: Record, listed: Listed) -> str:
    return "  ".join(str(record[name]) for name in ("kind", *listed.names) if record.get(name))


def _names(record: Record, listed: Listed) -> list[str]:
    # The first name is a member of each object of the API.
    return [str(record[name] if name == "name" else record.get(name) or "") for name in listed.names]


def _ends(record: Record, written: str, listed: Listed) -> bool:
    if not _END.fullmatch(written):
        return False
    return _digits(str(record[listed.id])).endswith(_digits(written))


def _digits(written: str) -> str:
    return written.replace("-", "").lower()


def _comparable(name: str) -> str:
    return name.casefold().rstrip("/")


def _plural(noun: str) -> str:
    irregular = {
        "mailbox": "mailboxes",
        "policy": "policies",
        "delivery": "deliveries",
        "group, site or mailbox": "groups, sites or mailboxes",
    }
    return irregular.get(noun, f"{noun}s")


def _place(option: str | None) -> str:
    return "" if option is None else f"{option}: "


def user_id(service: Service, written: str, *, option: str | None = None) -> str:
    """Find the id of a user by mail address or full name."""
    if is_id(written):
        return written
    users = _find_users(service, written)
    wanted = written.casefold()
    named = users if "@" in written else [each for each in users if str(each["displayName"]).casefold() == wanted]
    if len(named) == 1:
        return str(named[0]["id"])
    if named:
        lines = [f"  {each['id']}  {each['displayName']}  {each.get('mail') or ''}".rstrip() for each in named]
        raise ended(
            ExitCode.FAILED, f"{_place(option)}{len(named)} users have this name:", *lines, "Write the id of one."
        )
    near = " or ".join(f"{each['displayName']} ({each.get('mail')})" for each in users[:2])
    cure = f"Did you mean {near}?" if near else "Write the mail address or the id of a user."
    raise ended(ExitCode.NOT_THERE, f"{_place(option)}There is no user '{written}'. {cure}")


def user_ids(service: Service, written: Iterable[str], *, option: str | None = None) -> list[str]:
    """Find the ids of several users, in order."""
    return [user_id(service, each, option=option) for each in written]


def find_users(service: Service, address: str) -> list[str]:
    """Find the ids of all users with a mail address."""
    return [str(each["id"]) for each in _find_users(service, address)]


def _find_users(service: Service, written: str) -> Sequence[Record]:
    quoted = written.replace("'", "''")
    by_address = f"mail eq '{quoted}' or userPrincipalName eq '{quoted}'"
    filter_ = by_address if "@" in written else f"startswith(displayName,'{quoted}')"
    try:
        answer = service.read(_FIND_USER, query={"$filter": filter_, "$select": "id,displayName,mail"})
    except Forbidden as error:
        raise ended(
            ExitCode.NOT_ALLOWED,
            f"{written}: the directory does not let this sign-in look up users. Write the user's id.",
        ) from error
    value = answer.get("value")
    return value if isinstance(value, list) else []
