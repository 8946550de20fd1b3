# SPDX-License-Identifier: Apache-2.0
"""Settings of the connection to an open suite, as a TOML file.

Secrets are in files beside it. The operator writes all of them into the folder of the tenant. Only the address of the
LDAP server is in the connection. docs/reference/open-suite.md has the table.
"""

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta, Struct

from chamberlain.directory.opensuite.attributes import PERSON_ATTRIBUTES, PERSON_CLASS, Attributes
from chamberlain.directory.opensuite.layout import Branch, Layout
from chamberlain.directory.opensuite.ldap import Server
from chamberlain.directory.opensuite.mailstore import MailServer
from chamberlain.directory.opensuite.matrix import Homeserver

# The most bytes of the file, and of a file with a secret. Ours have less than a tenth.
_MOST_BYTES: Final = 65_536
_MEMCACHED_PORT: Final = 11211
_SUBMISSION_PORT: Final = 587
_TRANSFER_PORT: Final = 25


class SuiteSettingsInvalid(Exception):
    """The settings cannot be used.

    The text is a sentence for the administrator, without any secret.
    """


@dataclass(frozen=True, slots=True)
class CalendarServer:
    """SOGo, its account for all calendars, and its memcached server.

    `time_zone` is that of all-day and floating appointments of resources.
    """

    url: str | None = None
    account: tuple[str, str] | None = field(default=None, repr=False)
    memcached: tuple[str, int] | None = None
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class SuiteSettings:
    """The servers of a tenant.

    `homeserver` is None in a suite without teams. `transfer` takes the replies of resources, without authentication.
    """

    root: str
    ldap: Server
    layout: Layout
    mail: MailServer
    calendar: CalendarServer
    homeserver: Homeserver | None
    submission: tuple[str, int] | None = None
    transfer: tuple[str, int] | None = None
    dovecot_file: str = "/etc/dovecot/dovecot.conf"


_FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$", max_length=128)]
_Text = Annotated[str, Meta(min_length=1, max_length=1024)]


class _Section(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class _Ldap(_Section, frozen=True):
    base: _Text
    bind_dn: _Text
    password_file: _FileName
    start_tls: bool | None = None
    authorities: _Text | None = None


class _People(_Section, frozen=True):
    base: _Text | None = None
    filter: _Text = f"(&(objectClass={PERSON_CLASS})(!(objectClass=chamberlainMailbox)))"
    guests: _Text = "(employeeType=Guest)"
    licensed: _Text | None = None
    disabled_attribute: _Text = "pwdAccountLockedTime"
    disabled_value: _Text = "000001010000Z"
    aliases: tuple[_Text, ...] = ()
    # An empty name is a property that the server does not have.
    attributes: dict[str, str] = {}


class _Groups(_Section, frozen=True):
    base: _Text | None = None
    filter: _Text = "(|(objectClass=groupOfNames)(objectClass=groupOfURLs))"


class _Mailboxes(_Section, frozen=True):
    base: _Text | None = None
    filter: _Text = "(objectClass=chamberlainMailbox)"


class _Dovecot(_Section, frozen=True):
    url: _Text
    key_file: _FileName
    shared_prefix: _Text = "shared/"
    connections: Annotated[int, Meta(ge=1, le=100)] = 4
    file: _Text = "/etc/dovecot/dovecot.conf"


class _Postfix(_Section, frozen=True):
    submission: _Text | None = None
    transfer: _Text | None = None


class _Sogo(_Section, frozen=True):
    memcached: _Text | None = None
    url: _Text | None = None
    user: _Text | None = None
    password_file: _FileName | None = None
    time_zone: _Text = "UTC"


class _Matrix(_Section, frozen=True):
    url: _Text
    server_name: _Text
    token_file: _FileName
    admin_token_file: _FileName | None = None
    bot: _Text = "chamberlain"
    room_version: _Text = "11"


class SettingsFile(_Section, frozen=True):
    """The sections of the file."""

    ldap: _Ldap
    dovecot: _Dovecot
    people: _People = _People()
    groups: _Groups = _Groups()
    mailboxes: _Mailboxes = _Mailboxes()
    attributes: dict[str, _Text] = {}
    postfix: _Postfix | None = None
    sogo: _Sogo = _Sogo()
    matrix: _Matrix | None = None


def read_suite(ldap_url: str, folder: Path, file_name: str) -> SuiteSettings:
    """Read the file with the settings, and the files with secrets.

    Raises SuiteSettingsInvalid. Blocks.
    """
    written = _parse(_read(folder, file_name))
    sogo, matrix, postfix = written.sogo, written.matrix, written.postfix or _Postfix()
    is_plain = ldap_url.startswith("ldap://")
    return SuiteSettings(
        root=written.ldap.base,
        ldap=Server(
            url=ldap_url,
            bind_dn=written.ldap.bind_dn,
            password=_secret(folder, written.ldap.password_file),
            # TLS is the default on both ports.
            starts_tls=is_plain and written.ldap.start_tls is not False,
            authorities=written.ldap.authorities,
        ),
        layout=_layout(written),
        mail=MailServer(
            url=_url(written.dovecot.url),
            key=_secret(folder, written.dovecot.key_file),
            shared_prefix=written.dovecot.shared_prefix,
            connections=written.dovecot.connections,
        ),
        calendar=CalendarServer(
            url=None if sogo.url is None else _url(sogo.url),
            account=None
            if sogo.user is None or sogo.password_file is None
            else (sogo.user, _secret(folder, sogo.password_file)),
            memcached=None if sogo.memcached is None else _place(sogo.memcached, _MEMCACHED_PORT),
            time_zone=_time_zone(sogo.time_zone),
        ),
        homeserver=None
        if matrix is None
        else Homeserver(
            url=_url(matrix.url),
            name=matrix.server_name,
            token=_secret(folder, matrix.token_file),
            bot=matrix.bot,
            admin_token=None if matrix.admin_token_file is None else _secret(folder, matrix.admin_token_file),
            room_version=matrix.room_version,
        ),
        submission=None if postfix.submission is None else _place(postfix.submission, _SUBMISSION_PORT),
        transfer=None if postfix.transfer is None else _place(postfix.transfer, _TRANSFER_PORT),
        dovecot_file=written.dovecot.file,
    )


def settings_version(folder: Path) -> object:
    """Return a value that changes with every file in a folder. Blocks."""
    try:
        return tuple(sorted((each.name, each.stat().st_mtime_ns) for each in folder.iterdir()))
    except OSError:
        return None


def _layout(written: SettingsFile) -> Layout:
    people, base = written.people, written.ldap.base
    known = {each.name for each in fields(Attributes)}
    if unknown := sorted(set(written.attributes) - known):
        raise SuiteSettingsInvalid(f"The section attributes has the unknown name {unknown[0]}.")
    if unknown := sorted(set(people.attributes) - set(PERSON_ATTRIBUTES)):
        raise SuiteSettingsInvalid(f"The section people.attributes has the unknown name {unknown[0]}.")
    person = {name: each for name, each in {**PERSON_ATTRIBUTES, **people.attributes}.items() if each}
    return Layout(
        people=Branch(people.base or base, people.filter),
        groups=Branch(written.groups.base or f"ou=groups,{base}", written.groups.filter),
        mailboxes=Branch(written.mailboxes.base or f"ou=mailboxes,{base}", written.mailboxes.filter),
        guests=people.guests,
        licensed=people.licensed,
        disabled=(people.disabled_attribute, people.disabled_value),
        names=Attributes(**written.attributes),
        person=person,
        aliases=people.aliases,
    )


def _parse(raw: str) -> SettingsFile:
    try:
        return msgspec.convert(tomllib.loads(raw), SettingsFile)
    except tomllib.TOMLDecodeError as error:
        raise SuiteSettingsInvalid(f"The file is no TOML: {error}.") from error
    except msgspec.ValidationError as error:
        raise SuiteSettingsInvalid(f"{error}.") from error


def _read(folder: Path, name: str) -> str:
    try:
        with (folder / name).open("rb") as file:
            return file.read(_MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteSettingsInvalid(f"The file {name} cannot be read.") from error


def _secret(folder: Path, name: str) -> str:
    secret = _read(folder, name).strip()
    if not secret:
        raise SuiteSettingsInvalid(f"The file {name} is empty.")
    return secret


def _url(text: str) -> str:
    """Parse the URL of a server.

    TLS is not required: the servers may be on one machine, or in a private network.
    """
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.username
    except ValueError:
        is_valid = False
    if not is_valid:
        # A user in it would have a password.
        shown = text.rpartition("@")[2]
        raise SuiteSettingsInvalid(f"{shown} is no URL that begins with http:// or https:// and has no user.")
    return text.rstrip("/")


def _time_zone(name: str) -> str:
    """Check that the system knows a time zone."""
    try:
        return ZoneInfo(name).key
    except (ValueError, OSError, LookupError) as error:
        raise SuiteSettingsInvalid(f"{name} is no time zone, such as Europe/Berlin.") from error


def _place(text: str, default_port: int) -> tuple[str, int]:
    """Parse host and port."""
    host, _, port = text.rpartition(":") if ":" in text else (text, "", str(default_port))
    if not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise SuiteSettingsInvalid(f"{text} is no host with a port, such as 10.0.0.7:{default_port}.")
    return host.strip("[]"), int(port)
