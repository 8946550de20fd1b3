# SPDX-License-Identifier: Apache-2.0
"""Addresses: public ones may be called, all others only in networks that are allowed."""

from ipaddress import ip_address, ip_network

import pytest

from chamberlain.webhooks.addresses import is_allowed, is_ambiguous

PUBLIC = (
    "1.1.1.1",
    "8.8.8.8",
    "168.63.129.15",
    "172.32.0.1",
    "100.63.255.255",
    "192.0.1.1",
    "223.255.255.255",
    "2606:4700::1111",
)
REFUSED = (
    "0.0.0.0",  # noqa: S104 - nothing is bound to it.
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
)


def test_it_works() -> None:
    assert [each for each in PUBLIC if not is_allowed(ip_address(each), ())] == []
    assert [each for each in REFUSED if is_allowed(ip_address(each), ())] == []


@pytest.mark.parametrize(
    ("address", "network", "allowed"),
    [
        ("10.1.2.3", "10.1.0.0/16", True),
        ("10.2.2.3", "10.1.0.0/16", False),
        ("::1", "::1/128", True),
        ("127.0.0.1", "::/0", False),
        # An allowed network does not allow addresses that only lead to it.
        ("::ffff:10.1.2.3", "10.1.0.0/16", False),
        ("::ffff:10.1.2.3", "::ffff:0:0/96", True),
    ],
)
def test_it_works_with_networks_that_are_allowed(address: str, network: str, *, allowed: bool) -> None:
    assert is_allowed(ip_address(address), [ip_network("192.168.7.0/24"), ip_network(network)]) is allowed


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "127.0.0.1.",
        "08.8.8.8",
        "0x",
        "1.2.3.4.5",
        "example.com.1",
    ],
)
def test_it_rejects_addresses_in_disguise(host: str) -> None:
    assert is_ambiguous(host)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "8.8.8.8", "::1", "hooks.estate.example", "1.2.3.4.example", "a1", "0x7g"]
)
def test_it_takes_what_is_written_as_it_is(host: str) -> None:
    assert not is_ambiguous(host)
