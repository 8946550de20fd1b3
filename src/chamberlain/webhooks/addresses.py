"""Which addresses a webhook may stand at: public ones, and those of networks that the operator allows.

The lists are written out, because what the standard library calls global depends on its version. They are those of the
special-purpose address registries of IANA (RFC 6890 and its updates), with whatever leads to another address by
translation: IPv4-mapped, NAT64, 6to4 and Teredo.
"""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_REFUSED = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
            # In none of the registries: the host of every virtual machine of Azure, which answers that machine alone.
            "168.63.129.16/32",
            "2001::/23",
            "2001:db8::/32",
            "2002::/16",
            "3fff::/20",
        ),
    )
)
# All that is given out to the public so far; in it, what is refused above is not.
_PUBLIC_6 = IPv6Network("2000::/3")

# What the URL standard of browsers takes for an IPv4 address however it is written: a host whose last part is a number.
_ENDS_IN_A_NUMBER = re.compile(r"(?:^|\.)(?:[0-9]+|0[xX][0-9a-fA-F]*)\.?$")


def is_allowed(address: Address, allowed: Sequence[Network]) -> bool:
    """Whether an address may be connected to, beyond public ones those of the networks that are allowed."""
    if any(address in network for network in allowed):
        return True
    if isinstance(address, IPv6Address) and address not in _PUBLIC_6:
        return False
    return not any(address in network for network in _REFUSED)


def is_disguised(host: str) -> bool:
    """Whether a host is an IPv4 address that is not written as one: as a whole number, in octal or hexadecimal, or with
    parts left out."""
    if _ENDS_IN_A_NUMBER.search(host) is None:
        return False
    try:
        return str(ip_address(host)) != host
    except ValueError:
        return True
