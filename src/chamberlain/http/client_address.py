# SPDX-License-Identifier: Apache-2.0
"""Find the client address behind trusted proxies."""

import re
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

# Bytes of one line of such a header. A chain of 32 proxies with IPv6 addresses fits.
LONGEST_LINE = 4096
# Proxies that a call passes at most. Each is compared with all trusted networks.
MOST_HOPS = 32

# An IPv4 or IPv6 address, with brackets and port as RFC 7239, 6 and common proxies write them.
_NODE = re.compile(r"(?P<v4>[0-9.]{7,15})(?::[0-9]{1,5})?|\[(?P<v6>[0-9A-Fa-f:.]{2,45})\](?::[0-9]{1,5})?")
_BARE_V6 = re.compile(r"[0-9A-Fa-f:.]{2,45}")
# RFC 7239, 4, with the tokens and quoted strings of RFC 9110, 5.6.
_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PAIR = re.compile(rf'[ \t]*({_WORD})=({_WORD}|"(?:[^"\\]|\\.)*")[ \t]*([;,]|$)')


def client_address(peer: str, headers: Iterable[tuple[bytes, bytes]], trusted: Sequence[Network]) -> str:
    """Return the address of the client.

    It is that of the peer, unless the peer is a trusted proxy that names another one. Headers that are malformed, too
    long or contradictory are ignored. A proxy writes one of two headers and may pass on the other from the client.
    """
    connected = _address(peer)
    if connected is None or not is_trusted(connected, trusted):
        return peer
    lines: dict[bytes, list[str]] = {}
    for name, value in headers:
        if name in _READERS:
            lines.setdefault(name, []).append(value.decode("latin-1"))
    named = {_first_untrusted(_hops(name, each), trusted) for name, each in lines.items()}
    found = named.pop() if len(named) == 1 else None
    # No other machine has the addresses of this one.
    if found is None or found.is_unspecified or found.is_multicast or (found.is_loopback and not connected.is_loopback):
        return peer
    return str(found)


def is_trusted(address: Address, trusted: Sequence[Network]) -> bool:
    """Whether an address belongs to a trusted proxy."""
    return any(address in network for network in trusted if network.version == address.version)


def _first_untrusted(hops: Iterator[Address | None], trusted: Sequence[Network]) -> Address | None:
    """Return the first untrusted address, or the last address.

    Returns None for an invalid chain.
    """
    last: Address | None = None
    for number, hop in enumerate(hops):
        if hop is None or number == MOST_HOPS:
            return None
        last = hop
        if not is_trusted(hop, trusted):
            break
    return last


def _hops(name: bytes, lines: Sequence[str]) -> Iterator[Address | None]:
    """Yield the addresses from the nearest proxy to the client.

    An invalid one is None.
    """
    for line in reversed(lines):
        if len(line) > LONGEST_LINE:
            yield None
        else:
            yield from map(_node, reversed(_READERS[name](line)))


def _listed(line: str) -> list[str]:
    return [part.strip(" \t") for part in line.split(",")]


def _forwarded(line: str) -> list[str]:
    """Return the `for` parameters of a Forwarded header.

    A missing one is an empty text. An open quotation mark of a client would include the elements of proxies. Then the
    whole line is invalid.
    """
    nodes: list[str] = []
    node, place = "", 0
    while pair := _PAIR.match(line, place):
        name, value, end = pair.groups()
        if name.lower() == "for":
            if node:
                return [""]
            node = re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
        if end != ";":
            nodes.append(node)
            node = ""
        if not end:
            return nodes
        place = pair.end()
    return [""]


def _node(text: str) -> Address | None:
    found = _NODE.fullmatch(text)
    if found is not None:
        return _address(found["v4"] or found["v6"])
    return _address(text) if _BARE_V6.fullmatch(text) else None


def _address(text: str) -> Address | None:
    try:
        # Ignore the zone of a link-local address (RFC 4007, 11).
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    # A listener for both versions writes IPv4 addresses in this way (RFC 4291, 2.5.5.2).
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


_READERS = {b"x-forwarded-for": _listed, b"forwarded": _forwarded}


class ClientAddresses:
    """Wraps an application, and sets the client address in `scope["client"]`."""

    def __init__(self, application: ASGIApp, trusted: Sequence[Network]) -> None:
        self._application = application
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Set the client address and pass the call on."""
        peer = scope.get("client")
        if peer is not None:
            address = client_address(peer[0], scope["headers"], self._trusted)
            if address != peer[0]:
                # The port is that of the proxy's connection.
                scope["client"] = (address, 0)
        await self._application(scope, receive, send)
