# SPDX-License-Identifier: Apache-2.0
"""Validate the address of an external database.

Messages do not contain the password of the address.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qs, urlsplit

ADDRESS: Final = "an address such as postgresql://role:password@host:5432/database"
_WRITTEN: Final = f"{ADDRESS}. In a password / is written as %2F, # as %23, ? as %3F, @ as %40, [ as %5B and % as %25"
# The values that the driver accepts; it ends with a traceback at any other.
_PROTOCOLS = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")
_WORDS: Mapping[str, Sequence[str]] = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "sslnegotiation": ("postgres", "direct"),
    "ssl_min_protocol_version": _PROTOCOLS,
    "ssl_max_protocol_version": _PROTOCOLS,
    "target_session_attrs": ("any", "primary", "standby", "prefer-standby", "read-write", "read-only"),
}
# Their values may contain the separator of role and host.
_OF_ROLES = frozenset({"user", "password"})


def wanted_instead(address: str) -> str | None:
    """Return the expected form of an invalid address, or None.

    The text ends the sentence "expected ...". It contains nothing of the address.
    """
    try:
        parts = urlsplit(address)
        options = {name: values[-1] for name, values in _options(parts.query).items()}
    except ValueError:
        return _WRITTEN
    if parts.scheme not in {"postgresql", "postgres"} or re.search(r"[#\x00-\x1f]", address):
        return _WRITTEN
    if not (_is_place(parts.netloc) and re.fullmatch(r"/?[^/@]*", parts.path) and _are_options(options)):
        return _WRITTEN
    return next((_one_of(name) for name, known in _WORDS.items() if options.get(name, known[0]) not in known), None)


def _options(query: str) -> Mapping[str, Sequence[str]]:
    return parse_qs(query, strict_parsing=True) if query else {}


def _is_place(netloc: str) -> bool:
    """Return whether it names hosts, or only a role.

    Only a role means a local socket.
    """
    hosts = netloc.rpartition("@")[2]
    return netloc.count("@") <= 1 and (not hosts or _are_hosts(hosts))


def _are_hosts(hosts: str) -> bool:
    return all(_is_host(each) for each in hosts.split(","))


def _is_host(host: str) -> bool:
    if host.startswith("/"):
        return True
    found = re.fullmatch(r"(?:\[[^\[\]]+\]|[^:\[\]]+)(?::([0-9]*))?", host)
    return found is not None and (not found[1] or _is_port(found[1]))


def _is_port(port: str) -> bool:
    return re.fullmatch(r"[0-9]{1,5}", port) is not None and 1 <= int(port) <= 65535


def _are_options(options: Mapping[str, str]) -> bool:
    hosts, ports = options.get("host"), options.get("port")
    if hosts is not None and not _are_hosts(hosts):
        return False
    if ports is not None and not all(_is_port(each) for each in ports.split(",")):
        return False
    # One port for all hosts, or one for each.
    if hosts is not None and ports is not None and ports.count(",") not in {0, hosts.count(",")}:
        return False
    # Otherwise it is a part of a password with a question mark.
    return not any("@" in value for name, value in options.items() if name not in _OF_ROLES)


def _one_of(name: str) -> str:
    return f"its {name} to be one of {', '.join(_WORDS[name])}"
