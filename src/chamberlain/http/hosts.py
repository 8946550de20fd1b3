"""Which Host headers are ours: those of the base addresses, and the loopback names of our own listeners."""

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


def hosts_of(base_addresses: Iterable[str], loopback_ports: Iterable[int]) -> frozenset[str]:
    """All Host values to be served, in lower case. A default port may be written or left out."""
    found: set[str] = set()
    for address in base_addresses:
        parts = urlsplit(address)
        name = parts.hostname or ""
        name = f"[{name}]" if ":" in name else name
        default = _DEFAULT_PORTS.get(parts.scheme)
        port = parts.port or default
        found.add(f"{name}:{port}")
        if port == default:
            found.add(name)
    for port in loopback_ports:
        found |= {f"127.0.0.1:{port}", f"localhost:{port}"}
    return frozenset(found)


def is_ours(host: bytes | None, hosts: frozenset[bytes]) -> bool:
    """Whether a call is meant for this server, and not for one whose name was bent to our address."""
    return host in hosts or (host is not None and host.lower() in hosts)


def ambiguity(headers: Sequence[tuple[bytes, bytes]], authority: bytes | None, hosts: frozenset[bytes]) -> str | None:
    """Describe how a head names its host or its caller twice; None when it does not.

    `authority` is the host of an absolute address in the request line (RFC 9112, 3.2.2).
    """
    for name in (b"host", b"authorization"):
        if sum(each == name for each, _ in headers) > 1:
            return f"The header {name.decode('ascii').capitalize()} is there more than once. Send it once."
    if authority is not None and not (is_ours(authority, hosts) and _names(headers, authority)):
        return "The request line names no path of this service. Send the path alone."
    return None


def _names(headers: Sequence[tuple[bytes, bytes]], authority: bytes) -> bool:
    named: Mapping[bytes, bytes] = dict(headers)
    return named.get(b"host", b"").lower() == authority.lower()
