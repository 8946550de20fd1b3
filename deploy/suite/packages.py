# SPDX-License-Identifier: Apache-2.0
"""The packages of Debian that a suite needs. `dev.py` reads it without any library."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

POSTGRES: Final = Path("/usr/lib/postgresql/15/bin")
# Each server with the program that a start needs.
SERVERS: Final[Mapping[str, Path]] = {
    "slapd": Path("/usr/sbin/slapd"),
    "dovecot": Path("/usr/sbin/dovecot"),
    "postfix": Path("/usr/sbin/postfix"),
    "postgresql": POSTGRES / "postgres",
    "memcached": Path("/usr/bin/memcached"),
    "sogo": Path("/usr/sbin/sogod"),
    "web": Path("/usr/sbin/nginx"),
}
SERVER_PACKAGES: Final = (
    "slapd ldap-utils dovecot-imapd dovecot-lmtpd dovecot-sieve dovecot-managesieved dovecot-ldap postfix postfix-ldap "
    "sogo memcached postgresql-15 nginx"
)
# Files that building python-ldap needs.
BUILD: Final[Mapping[str, Path]] = {
    "gcc": Path("/usr/bin/gcc"),
    "ldap.h": Path("/usr/include/ldap.h"),
    "sasl.h": Path("/usr/include/sasl/sasl.h"),
}
BUILD_PACKAGES: Final = "gcc libc6-dev python3-dev libldap2-dev libsasl2-dev"
# Dovecot, Postfix and nginx change to other users.
NEED_ROOT: Final = ("dovecot", "postfix", "web")


def server_problem(parts: Iterable[str] = SERVERS) -> str | None:
    """Return why servers cannot start on this machine, or None."""
    parts = list(parts)
    if missing := [part for part in parts if part in SERVERS and not SERVERS[part].exists()]:
        return f"This machine lacks {', '.join(missing)}: apt-get install --no-install-recommends {SERVER_PACKAGES}"
    rooted = [part for part in parts if part in NEED_ROOT]
    if rooted and os.geteuid() != 0:
        return f"{' and '.join(rooted)} need root. Run it as root."
    return None


def build_problem() -> str | None:
    """Return why python-ldap cannot be built on this machine, or None."""
    if missing := [name for name, file in BUILD.items() if not file.exists()]:
        return f"This machine lacks {', '.join(missing)}: apt-get install --no-install-recommends {BUILD_PACKAGES}"
    return None
