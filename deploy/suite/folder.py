# SPDX-License-Identifier: Apache-2.0
"""The folder of a suite: its ports, secrets and paths, chosen once at the first start."""

import hashlib
import os
import random
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# Each clone has a suite of its own. Other system users read and write in it, so it cannot be below a home folder.
_CLONE: Final = hashlib.sha256(os.fsencode(Path(__file__).resolve().parents[2])).hexdigest()[:8]
DEFAULT: Final = Path(f"/var/tmp/chamberlain-suite-{_CLONE}")  # noqa: S108  Its mode and owner are checked below.
# The databases of an empty suite and its logs have 150 MB.
_MOST_USED: Final = 500_000_000
HOST: Final = "127.0.0.1"
# The tenant of the example that uses the suite: Example Estate.
TENANT: Final = "e57a7e00-0000-4000-8000-000000000001"
DOMAIN: Final = "estate.example"
# No server outside receives mail of the suite; a mailbox of this domain receives automatic replies in tests.
OUTSIDE_DOMAIN: Final = "outside.example"

# Below the ports that the system assigns. It may assign one of those to another process while a server restarts.
_FIRST_PORT, _LAST_PORT = 21_000, 32_000
_PORTS: Final = (
    "LDAP_PORT", "IMAP_PORT", "LMTP_PORT", "DOVEADM_PORT", "SMTP_PORT", "SUBMISSION_PORT", "SOGO_PORT", "WEB_PORT",
    "MEMCACHED_PORT", "DATABASE_PORT", "MATRIX_PORT",
)  # fmt: skip
_SECRETS: Final = (
    "LDAP_ROOT_PASSWORD", "CHAMBERLAIN_PASSWORD", "READER_PASSWORD", "CALENDAR_PASSWORD", "DOVEADM_KEY",
    "SOGO_DATABASE_PASSWORD", "SYNAPSE_DATABASE_PASSWORD", "APPSERVICE_TOKEN", "HOMESERVER_TOKEN", "MACAROON_SECRET",
    "FORM_SECRET",
)  # fmt: skip


class CannotStart(Exception):
    """The suite cannot be started; the sentence says what to do."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite in its folder. `values` are the values of the placeholders."""

    folder: Path
    values: Mapping[str, str]

    @property
    def settings(self) -> Path:
        """The file with the values, as `fill` reads it."""
        return self.folder / "suite.env"

    @property
    def base(self) -> str:
        """The root of the directory."""
        return self.values["BASE"]

    def port(self, name: str) -> int:
        """Return a port by its name, such as IMAP."""
        return int(self.values[f"{name}_PORT"])

    def url(self, name: str) -> str:
        """Return the HTTP address of a server by the name of its port."""
        host = self.values["MATRIX_HOST" if name == "MATRIX" else "CALENDAR_HOST"]
        return f"http://{host}:{self.port(name)}"

    def log(self, part: str) -> Path:
        """Return the file for the output of a server."""
        return self.folder / "log" / f"{part}.log"


def opened(folder: Path = DEFAULT) -> Suite:
    """Open the folder of a suite. Raises CannotStart if there is none."""
    settings = folder / "suite.env"
    if not settings.exists():
        raise CannotStart(f"{folder} has no suite. Start one: python3 dev.py suite start")
    return Suite(folder, dict(_read(settings)))


def created(folder: Path = DEFAULT) -> Suite:
    """Open the folder of a suite, and create it if there is none."""
    settings = folder / "suite.env"
    _make(folder)
    known = dict(_read(settings)) if settings.exists() else {}
    # Another version has written a file without some of the names.
    values = {**_paths(folder), **_ports(), **{name: secrets.token_hex(24) for name in _SECRETS}, **known}
    values["LDAP_URL"] = values["LDAP_LISTEN"] = f"ldap://{HOST}:{values['LDAP_PORT']}"
    if values != known:
        # Written at once: a start that is interrupted leaves a complete file or none.
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            file.writelines(f"{name}={value}\n" for name, value in values.items())
        Path(file.name).rename(settings)
    return opened(folder)


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.geteuid() or folder.is_symlink():
        raise CannotStart(f"{folder} belongs to another user. Name another folder: --folder")
    folder.chmod(0o711)
    if (free := shutil.disk_usage(folder).free) < _MOST_USED:
        raise CannotStart(f"{folder} has {free // 10**6} MB free. A suite needs {_MOST_USED // 10**6} MB.")
    for name in ("log", "run"):
        (folder / name).mkdir(exist_ok=True)


def _read(settings: Path) -> Iterator[tuple[str, str]]:
    for line in settings.read_text(encoding="utf-8").splitlines():
        name, separator, value = line.partition("=")
        if separator and not line.startswith("#"):
            yield name, value


def _paths(folder: Path) -> dict[str, str]:
    """Return what example.env has for four servers, for one machine."""
    dovecot, postfix, synapse = folder / "dovecot", folder / "postfix", folder / "synapse"
    return {
        "BASE": "dc=estate,dc=example",
        "BASE_DC": "estate",
        "DOMAIN": DOMAIN,
        "MAIL_DOMAINS": f"{DOMAIN},rooms.{DOMAIN},{OUTSIDE_DOMAIN}",
        "MAIL_NAME": f"mail.{DOMAIN}",
        **dict.fromkeys(("MAIL_HOST", "MAIL_CLIENTS", "CALENDAR_HOST", "DATABASE_HOST", "MATRIX_HOST"), HOST),
        "LDAP_CONFIG": str(folder / "slapd"),
        "LDAP_DATA": str(folder / "slapd" / "data"),
        "LDAP_RUN": str(folder / "slapd" / "run"),
        "MAIL_FOLDER": str(folder / "mail"),
        "MAIL_UID": "5000",
        "MAIL_GID": "5000",
        "DOVECOT_CONFIG": str(dovecot),
        "DOVECOT_RUN": str(dovecot / "run"),
        "DOVECOT_STATE": str(dovecot / "state"),
        "DOVECOT_LOG": str(folder / "log" / "dovecot.log"),
        "POSTFIX_CONFIG": str(postfix / "etc"),
        "POSTFIX_SPOOL": str(postfix / "spool"),
        "POSTFIX_DATA": str(postfix / "data"),
        "POSTFIX_LOG": str(folder / "log" / "postfix.log"),
        "OUTSIDE_TRANSPORT": "error:this-suite-sends-nothing-outside",
        "NGINX_CONFIG": str(folder / "nginx"),
        "SOGO_CONFIG": str(folder / "sogo"),
        "SOGO_LOG": str(folder / "sogo" / "sogo.log"),
        "SOGO_PID": str(folder / "sogo" / "sogo.pid"),
        "DATABASE_TLS": "disable",
        "MATRIX_TLS": "false",
        "SYNAPSE_CONFIG": str(synapse),
        "SYNAPSE_DATA": str(synapse),
        "SYNAPSE_HOME": str(folder / "synapse-home"),
        "SYSTEMD_UNITS": str(folder / "systemd"),
        "MEMCACHED_CONFIG": str(folder / "memcached"),
        "CONNECTION_FILES": str(folder / "connections"),
        "TENANT": TENANT,
    }


def _ports() -> dict[str, str]:
    free: list[int] = []
    candidates = random.sample(range(_FIRST_PORT, _LAST_PORT), 200)
    for port in candidates:
        if len(free) == len(_PORTS):
            break
        with socket.socket() as tried:
            if tried.connect_ex((HOST, port)) == 0:
                continue
        with socket.socket() as tried:
            try:
                tried.bind((HOST, port))
            except OSError:
                continue
        free.append(port)
    if len(free) < len(_PORTS):
        raise CannotStart("The machine has too few free ports.")
    return dict(zip(_PORTS, map(str, free), strict=True))
