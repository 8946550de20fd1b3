# SPDX-License-Identifier: Apache-2.0
from ipaddress import ip_address, ip_network

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chamberlain.http.client_address import LONGEST_LINE, MOST_HOPS, client_address, is_trusted

pytestmark = pytest.mark.pure

PROXY, OUTER = "10.0.0.1", "10.0.0.2"
TRUSTED = (ip_network("10.0.0.0/24"), ip_network("2001:db8::1"))
XFF, FORWARDED = b"x-forwarded-for", b"forwarded"


def found(*headers: tuple[bytes, str], peer: str = PROXY) -> str:
    return client_address(peer, [(name, value.encode("latin-1")) for name, value in headers], TRUSTED)


def test_it_works() -> None:
    assert found((XFF, "192.0.2.1")) == "192.0.2.1"


@pytest.mark.parametrize(
    ("value", "client"),
    [
        (f"192.0.2.1, {OUTER}", "192.0.2.1"),
        (f"192.0.2.9,192.0.2.1 ,\t{OUTER}", "192.0.2.1"),
        ("no address, 192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:4711", "192.0.2.1"),
        ("2001:DB8::7", "2001:db8::7"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        (f"10.0.0.9, {OUTER}", "10.0.0.9"),
        (", ".join(["192.0.2.1", *[OUTER] * (MOST_HOPS - 1)]), "192.0.2.1"),
        # Malformed or too long: the address of the proxy.
        ("", PROXY),
        ("unknown", PROXY),
        ("192.0.2.1,", PROXY),
        (f"192.0.2.1, 10.0.0, {OUTER}", PROXY),
        ("192.0.2.1:port", PROXY),
        ("192.0.2.256", PROXY),
        ("fe80::1%eth0", PROXY),
        ("192.0.2.1" * 10, PROXY),
        ("1" * LONGEST_LINE + ",192.0.2.1", PROXY),
        (", ".join(["192.0.2.1", *[OUTER] * MOST_HOPS]), PROXY),
        # No other machine has them.
        ("127.0.0.1", PROXY),
        ("::1", PROXY),
        ("0.0.0.0", PROXY),  # noqa: S104 - nothing is bound to it.
        ("224.0.0.1", PROXY),
    ],
)
def test_it_reads_x_forwarded_for_from_the_right(value: str, client: str) -> None:
    assert found((XFF, value)) == client


@pytest.mark.parametrize(
    ("value", "client"),
    [
        ("for=192.0.2.1", "192.0.2.1"),
        ('For="192.0.2.1:4711";proto=https;by=10.0.0.1', "192.0.2.1"),
        ('proto=http;for="[2001:db8::7]:4711"', "2001:db8::7"),
        (f"for=192.0.2.9, for=192.0.2.1, for={OUTER}", "192.0.2.1"),
        ('for="192.0.2\\.1"', "192.0.2.1"),
        ("for=unknown", PROXY),
        ("for=_hidden", PROXY),
        ("proto=https", PROXY),
        ("for=192.0.2.1;for=192.0.2.2", PROXY),
        ("for=192.0.2.1;", PROXY),
        ("for=192.0.2.1,", PROXY),
        ("for = 192.0.2.1", PROXY),
        ("192.0.2.1", PROXY),
        # A client that opens a quotation mark must not hide what the proxy appends.
        ('for=192.0.2.9;x=", for=192.0.2.1', PROXY),
        ('for=192.0.2.9;x=", for="[2001:db8::7]"', PROXY),
        ('for=192.0.2.9;x="\\, for="[2001:db8::7]"', PROXY),
    ],
)
def test_it_reads_forwarded(value: str, client: str) -> None:
    assert found((FORWARDED, value)) == client


def test_several_lines_are_one_list() -> None:
    assert found((XFF, "192.0.2.9"), (XFF, "192.0.2.1"), (XFF, OUTER)) == "192.0.2.1"


def test_two_headers_that_differ_count_for_nothing() -> None:
    assert found((XFF, "192.0.2.1"), (FORWARDED, "for=192.0.2.1")) == "192.0.2.1"
    assert found((XFF, "192.0.2.1"), (FORWARDED, "for=192.0.2.2")) == PROXY
    assert found((XFF, "192.0.2.1"), (FORWARDED, "for=_hidden")) == PROXY


@pytest.mark.parametrize("peer", ["10.0.1.1", "192.0.2.7", "::ffff:10.0.1.1", "2001:db8::2", "not an address"])
def test_callers_that_are_no_proxy_choose_no_address(peer: str) -> None:
    assert found((XFF, "192.0.2.1"), peer=peer) == peer
    assert found((FORWARDED, "for=192.0.2.1"), peer=peer) == peer


@pytest.mark.parametrize("peer", ["::ffff:10.0.0.1", "2001:db8::1", "2001:db8::1%eth0"])
def test_a_proxy_is_known_however_its_address_is_written(peer: str) -> None:
    assert found((XFF, "192.0.2.1"), peer=peer) == "192.0.2.1"


def test_a_client_on_the_machine_of_a_proxy_on_loopback_is_local() -> None:
    trusted = (ip_network("127.0.0.1"),)

    assert client_address("127.0.0.1", [(XFF, b"127.0.0.1")], trusted) == "127.0.0.1"
    assert client_address("127.0.0.1", [(XFF, b"127.0.0.1, 192.0.2.1")], trusted) == "192.0.2.1"


@given(
    st.lists(st.tuples(st.sampled_from([XFF, FORWARDED]), st.binary(max_size=60)), max_size=3),
    st.sampled_from(["192.0.2.1", "2001:db8::7"]),
)
@example([(FORWARDED, b'for="')], "192.0.2.1")
def test_what_a_client_sends_never_replaces_what_the_proxy_appends(
    sent: list[tuple[bytes, bytes]], client: str
) -> None:
    written = f'"[{client}]"' if ":" in client else client
    for name, own in ((XFF, client), (FORWARDED, f"for={written}")):
        # One proxy appends to the line that it was sent, another adds a line.
        before = b", ".join(value for each, value in sent if each == name)
        appended = [(name, before + b", " + own.encode())] if before else [(name, own.encode())]
        added = [*((each, value) for each, value in sent if each == name), (name, own.encode())]

        assert client_address(PROXY, appended, TRUSTED) in {client, PROXY}
        assert client_address(PROXY, added, TRUSTED) == client


@pytest.mark.parametrize(
    ("address", "expected"),
    [("10.0.0.9", True), ("192.168.7.1", True), ("172.16.0.1", False), ("2001:db8::1", True), ("2001:db8::2", False)],
)
def test_an_address_is_trusted_in_any_of_the_networks(address: str, *, expected: bool) -> None:
    trusted = (*TRUSTED, ip_network("192.168.0.0/16"))

    assert is_trusted(ip_address(address), trusted) is expected
    assert not is_trusted(ip_address(address), ())
