# SPDX-License-Identifier: Apache-2.0
"""Check the servers of an open suite for missing settings.

The adapter needs all of them. Every look is read-only. Each missing setting is reported with the lines to add.
docs/how-to/open-suite.md sets up the servers, and deploy/suite/ has their complete configuration.
"""

import asyncio
import posixpath
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from fnmatch import fnmatch
from typing import Final, Protocol
from urllib.parse import quote

import aiosmtplib
import httpx2

from chamberlain.core.errors import Cause, ConnectionBroken, TryAgain
from chamberlain.core.reasons import Reason
from chamberlain.directory.opensuite.attributes import (
    DYNAMIC_GROUP_CLASS,
    MAILBOX_CLASS,
    MANAGED_CLASS,
    MANAGED_GROUP_CLASS,
)
from chamberlain.directory.opensuite.ldap import Client, Refused, Result, Row, Scope
from chamberlain.directory.opensuite.server_settings import (
    CONFIGURATION,
    ConfigurationEntry,
    DatabaseSettings,
    Section,
    defined_names,
    find_database,
    has_shared_namespace,
    inherits_from_inbox,
    joined,
    parse_dovecot,
    runs_sieve,
)

_BROKEN_FOR: Final = timedelta(minutes=1)
_AWAY_FOR: Final = timedelta(seconds=5)
# Seconds for one server. A user waits for the check, so it is shorter than the timeout of jobs.
_TIMEOUT: Final = 15.0
# Files of one configuration of Dovecot; Debian's has about thirty.
_MOST_FILES: Final = 100
_REFERENCES: Final = frozenset(
    {"member", "owner", "chamberlainfullaccess", "chamberlainsendas", "chamberlainautomapped"}
)


class Item(StrEnum):
    """Settings that the servers need."""

    SCHEMA = "schema"
    INDEX = "index"
    UNIQUE = "unique"
    REFINT = "refint"
    DYNLIST = "dynlist"
    SYNCPROV = "syncprov"
    ACL_DEFAULTS = "acl_defaults_from_inbox"
    SHARED_NAMESPACE = "shared namespace"
    SIEVE = "sieve"
    SENDER_LOGIN = "reject_sender_login_mismatch"
    PLACES = "places source"
    APPLICATION_SERVICE = "application service"


class State(StrEnum):
    """State of a setting. An `unseen` one could not be looked at."""

    PRESENT = "present"
    MISSING = "missing"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of one setting.

    `file` is the file that it belongs to, `lines` are the lines to add unless it is present.
    """

    item: Item
    state: State
    file: str = ""
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Render the finding with its lines."""
        if not self.lines:
            return f"{self.item}: {self.state}."
        return f"{self.item}: {self.state}. Add to {self.file}:\n" + "\n".join(f"    {line}" for line in self.lines)


class Files(Protocol):
    """Files on the mail server, as doveadm reads them.

    The result is None for a file or folder that it cannot read.
    """

    async def read_file(self, path: str) -> str | None: ...
    async def list_files(self, folder: str) -> Sequence[str] | None: ...


@dataclass(frozen=True, slots=True)
class Calendar:
    """SOGo, and an account there that is one of SOGoSuperUsernames."""

    url: str
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Bases:
    """Branches of the directory: its root, people, and mailboxes."""

    root: str
    people: str
    mailboxes: str


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of a tenant.

    `whoami` asks the Matrix server with the token, and raises ConnectionBroken if it refuses it. `submission` is host
    and port of Postfix. Without one of these or `calendar`, its settings are not looked at.
    """

    ldap: Client
    bases: Bases
    files: Files
    whoami: Callable[[], Awaitable[None]] | None
    http: httpx2.AsyncClient
    submission: tuple[str, int] | None = None
    calendar: Calendar | None = None
    dovecot_file: str = "/etc/dovecot/dovecot.conf"


async def check_servers(servers: Servers) -> tuple[Finding, ...]:
    """Look at all settings, in the order of Item.

    Raises TryAgain if a server does not answer.
    """
    async with naming("The LDAP server"):
        schema, database = await _schema(servers.ldap), await _database(servers)
    async with naming("Dovecot"):
        dovecot = await _dovecot(servers)
    return (
        schema,
        *_directory(database, servers.bases.root),
        *_mail(dovecot, servers.dovecot_file),
        await _submission(servers),
        await _places(servers),
        await _application_service(servers),
    )


@asynccontextmanager
async def naming(server: str) -> AsyncIterator[None]:
    """Limit the time for a server, and name it in a failure.

    A refused certificate is named as well.
    """
    try:
        async with asyncio.timeout(_TIMEOUT):
            yield
    except ConnectionBroken:
        raise
    except (TryAgain, TimeoutError) as error:
        if isinstance(error, TryAgain) and error.cause is not Cause.AWAY:
            raise
        problem = _certificate_problem(error)
        said = "does not answer." if problem is None else f"has a certificate that is refused: {problem}."
        raise TryAgain(_AWAY_FOR, f"{server} {said}", Cause.AWAY) from error


def _certificate_problem(error: BaseException | None) -> str | None:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None


def require_settings(findings: Sequence[Finding]) -> None:
    """Raise ConnectionBroken with the lines to add if a setting is missing."""
    missing = [finding for finding in findings if finding.state is State.MISSING]
    if missing:
        problems = " ".join(f"{each.item} (in {each.file}: {_inline(each.lines)})." for each in missing)
        raise ConnectionBroken(_BROKEN_FOR, Reason.build("serverSettingsMissing", problems=problems))


def _inline(lines: Sequence[str]) -> str:
    return " / ".join(line.strip() for line in lines)


_SLAPD: Final = "slapd.conf"
_READABLE: Final = (
    "database config",
    'access to dn.subtree="cn=config"',
    f"    attrs=entry,objectClass,olcDatabase,olcDynListAttrSet,{','.join(CONFIGURATION)}",
    "    by dn.exact=<account of Chamberlain> read",
    "    by * none",
)
_ACL_LINES: Final = ("mail_plugins = $mail_plugins acl", "plugin {", "  acl_defaults_from_inbox = yes", "}")
_NAMESPACE_LINES: Final = (
    "namespace {",
    "  type = shared",
    "  separator = /",
    "  prefix = shared/%%u/",
    "  location = maildir:%%h/Maildir:INDEXPVT=~/shared/%%u",
    "  subscriptions = no",
    "  list = children",
    "}",
    "plugin {",
    "  acl_shared_dict = file:/srv/mail/shared.db:lock=fcntl",
    "}",
)
_SIEVE_LINES: Final = (
    "protocol lmtp {",
    "  mail_plugins = $mail_plugins sieve",
    "}",
    "plugin {",
    "  sieve = file:~/sieve;active=~/.dovecot.sieve",
    "}",
)
_SENDER_LINES: Final = (
    "submission inet n - n - - smtpd",
    "  -o smtpd_sasl_auth_enable=yes",
    "  -o smtpd_sender_restrictions=reject_sender_login_mismatch",
)
_PLACES_LINES: Final = (
    "{ type = ldap; id = places; canAuthenticate = YES; isAddressBook = NO; CNFieldName = cn; IDFieldName = uid;",
    "  UIDFieldName = uid; MailFieldNames = ( mail, chamberlainAddress ); KindFieldName = chamberlainKind;",
    '  MultipleBookingsFieldName = chamberlainBookings; scope = SUB; baseDN = "<branch of mailboxes>";',
    '  hostname = "<LDAP_URL>"; bindDN = "<account>"; bindPassword = "<password>"; }',
)
_SERVICE_LINES: Final = ("app_service_config_files:", "  - /etc/synapse/chamberlain.yaml")


async def _schema(ldap: Client) -> Finding:
    """Look for the object classes.

    slapd accepts a class only with all of its attributes.
    """
    rows = (await ldap.search("", Scope.BASE, "(objectClass=*)", ["subschemaSubentry"])).rows
    entry = next((_decoded(row) for row in rows), None)
    names = [] if entry is None else entry.all("subschemaSubentry")
    found: frozenset[str] = frozenset()
    for name in names:
        rows = (await ldap.search(name, Scope.BASE, "(objectClass=subschema)", ["objectClasses"])).rows
        found |= defined_names(value for row in rows for value in _decoded(row).all("objectClasses"))
    needed = (MANAGED_CLASS, MAILBOX_CLASS, MANAGED_GROUP_CLASS)
    lines: tuple[str, ...] = ("include /etc/ldap/schema/chamberlain.schema",)
    if DYNAMIC_GROUP_CLASS.lower() not in found:
        lines = ("include /etc/ldap/schema/dyngroup.schema", *lines)
    is_there = found.issuperset(name.lower() for name in (*needed, DYNAMIC_GROUP_CLASS))
    return _finding(Item.SCHEMA, _SLAPD, lines, is_there=is_there if found else None)


async def _database(servers: Servers) -> DatabaseSettings | None:
    try:
        found = await servers.ldap.search("cn=config", Scope.SUBTREE, "(objectClass=*)", CONFIGURATION)
    except Refused as refused:
        if refused.result == Result.NO_SUCH_OBJECT:
            return None
        raise
    return find_database(map(_decoded, found.rows), servers.bases.root)


def _directory(database: DatabaseSettings | None, base: str) -> Iterator[Finding]:
    uri = f'unique_uri "serialize ldap:///{base}?chamberlainAddress?sub"'
    references = "refint_attributes member owner chamberlainFullAccess chamberlainSendAs chamberlainAutoMapped"
    members = "dynlist-attrset groupOfURLs memberURL member+memberOf@groupOfNames"
    needed = {
        Item.INDEX: ("index chamberlainRequestId eq",),
        Item.UNIQUE: ("moduleload unique", "overlay unique", uri),
        Item.REFINT: ("moduleload refint", "overlay refint", references),
        Item.DYNLIST: ("moduleload dynlist", "overlay dynlist", members),
        Item.SYNCPROV: ("moduleload syncprov", "overlay syncprov", "syncprov-sessionlog 100000"),
    }
    for item, lines in needed.items():
        if database is None:
            yield Finding(item, State.UNSEEN, _SLAPD, _READABLE)
        else:
            yield _finding(item, _SLAPD, lines, is_there=_has(database, item))


def _has(database: DatabaseSettings, item: Item) -> bool:
    match item:
        case Item.INDEX:
            return "chamberlainrequestid" in database.indexed
        case Item.UNIQUE:
            return database.words("unique", "olcUniqueURI") >= {"serialize", "chamberlainaddress"}
        case Item.REFINT:
            return database.words("refint", "olcRefintAttribute") >= _REFERENCES
        case Item.DYNLIST:
            return "memberurl" in database.words("dynlist", "olcDynListAttrSet", "olcDlAttrSet")
        case _:
            return bool(database.words("syncprov", "olcSpSessionlog"))


async def _dovecot(servers: Servers) -> Section | None:
    """Read the configuration with the files that it includes.

    None if doveadm cannot read it.
    """
    sections: list[Section] = []
    wanted, is_whole = [servers.dovecot_file], False
    while wanted and len(sections) < _MOST_FILES:
        path = wanted.pop(0)
        text = await servers.files.read_file(path)
        # A file with a secret can be unreadable.
        if text is None:
            continue
        is_whole = is_whole or path == servers.dovecot_file
        section, included = parse_dovecot(text)
        sections.append(section)
        for each in included:
            wanted += await _matching(servers.files, posixpath.join(posixpath.dirname(path), each))
    return joined(sections) if is_whole else None


async def _matching(files: Files, path: str) -> list[str]:
    folder, pattern = posixpath.split(path)
    if not re.search(r"[*?\[]", pattern):
        return [path]
    names = await files.list_files(folder) or ()
    return [posixpath.join(folder, name) for name in sorted(names) if fnmatch(name, pattern)]


def _mail(dovecot: Section | None, file: str) -> Iterator[Finding]:
    needed = (
        (Item.ACL_DEFAULTS, _ACL_LINES, inherits_from_inbox),
        (Item.SHARED_NAMESPACE, _NAMESPACE_LINES, has_shared_namespace),
        (Item.SIEVE, _SIEVE_LINES, runs_sieve),
    )
    for item, lines, is_met in needed:
        yield _finding(item, file, lines, is_there=None if dovecot is None else is_met(dovecot))


async def _submission(servers: Servers) -> Finding:
    """Name the sender of another user, without signing in.

    Postfix refuses it before any message.
    """
    sender = await _first(servers.ldap, servers.bases.people, "(mail=*)", "mail")
    if servers.submission is None or sender is None:
        return Finding(Item.SENDER_LOGIN, State.UNSEEN)
    host, port = servers.submission
    client = aiosmtplib.SMTP(hostname=host, port=port, timeout=_TIMEOUT)
    said = ""
    async with naming(f"Postfix at {host}:{port}"):
        try:
            async with client:
                await client.mail(sender)
                await client.rcpt(sender)
        except aiosmtplib.SMTPResponseException as refused:
            said = refused.message
            if refused.code < 500:
                problem = f"Postfix at {host}:{port} answers {refused.code} {said}"
                raise TryAgain(_AWAY_FOR, problem, Cause.NOT_YET) from refused
        except (aiosmtplib.SMTPException, OSError) as error:
            raise _away() from error
    return _finding(Item.SENDER_LOGIN, "master.cf", _SENDER_LINES, is_there="Sender address rejected" in said)


async def _places(servers: Servers) -> Finding:
    """Open the calendar of a room.

    Without a room there is nothing to look at.
    """
    room = await _first(servers.ldap, servers.bases.mailboxes, "(chamberlainKind=*)", "uid")
    if servers.calendar is None or room is None:
        return Finding(Item.PLACES, State.UNSEEN)
    calendar = servers.calendar
    url = f"{calendar.url.rstrip('/')}/SOGo/dav/{quote(room, safe='')}/Calendar/"
    account = httpx2.BasicAuth(calendar.user, calendar.password)
    async with naming(f"SOGo at {calendar.url}"):
        try:
            found = await servers.http.request("PROPFIND", url, auth=account, headers={"Depth": "0"}, timeout=_TIMEOUT)
        except (httpx2.HTTPError, OSError) as error:
            raise _away() from error
        # A web server in front of SOGo answers in its place.
        if found.status_code >= 500:
            raise _away()
    if found.status_code == 401:
        reason = Reason.build("serverRefusesCredential", server="SOGo")
        raise ConnectionBroken(_BROKEN_FOR, reason)
    # For a name that it does not know, SOGo returns the calendar of this one.
    is_there = found.status_code == 207 and "/SOGo/dav/anonymous/" not in found.text
    return _finding(Item.PLACES, "SOGoUserSources of sogo.conf", _PLACES_LINES, is_there=is_there)


async def _application_service(servers: Servers) -> Finding:
    if servers.whoami is None:
        return Finding(Item.APPLICATION_SERVICE, State.UNSEEN)
    try:
        async with naming("The Matrix server"):
            await servers.whoami()
    except ConnectionBroken:
        return Finding(Item.APPLICATION_SERVICE, State.MISSING, "homeserver.yaml", _SERVICE_LINES)
    return Finding(Item.APPLICATION_SERVICE, State.PRESENT)


async def _first(ldap: Client, base: str, filter_: str, attribute: str) -> str | None:
    """Read an attribute of one entry that matches."""
    async with ldap.paging:
        # A page of one entry: a directory may have a hundred thousand.
        page = ldap.make_control(
            "ldap.controls.libldap", "SimplePagedResultsControl", criticality=True, size=1, cookie=b""
        )
        found = await ldap.search(base, Scope.SUBTREE, filter_, [attribute], controls=[page])
    return next((value for row in found.rows for value in _decoded(row).all(attribute)), None)


def _finding(item: Item, file: str, lines: tuple[str, ...], *, is_there: bool | None) -> Finding:
    """Build a finding.

    None is a setting that could not be looked at.
    """
    if is_there:
        return Finding(item, State.PRESENT)
    return Finding(item, State.UNSEEN if is_there is None else State.MISSING, file, lines)


def _decoded(row: Row) -> ConfigurationEntry:
    values = {name.lower(): [each.decode(errors="replace") for each in found] for name, found in row.values.items()}
    return ConfigurationEntry(row.dn, values)


def _away() -> TryAgain:
    return TryAgain(_AWAY_FOR, Reason.build("directoryNotAvailable"), Cause.AWAY)
