"""Which Host headers are ours: those of the base addresses, and the loopback names of our own listeners."""

from collections.abc import Iterable
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
