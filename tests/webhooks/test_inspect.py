# SPDX-License-Identifier: Apache-2.0
"""The reasons that would keep a webhook from being called, as the operator sees them."""

from collections.abc import Sequence
from ipaddress import ip_address, ip_network

import pytest

from chamberlain.webhooks.addresses import Address, check_address
from chamberlain.webhooks.models import Reachability

NAMES: dict[str, list[str]] = {
    "public.example": ["1.1.1.1", "2606:4700::1111"],
    "half.example": ["1.1.1.1", "10.0.0.1"],
    "inside.example": ["10.0.0.1"],
    "empty.example": [],
    "xn--mnchen-3ya.example": ["1.1.1.1"],
}


async def resolve(host: str, _port: int) -> Sequence[Address]:
    if host not in NAMES:
        raise OSError(host)
    return [ip_address(each) for each in NAMES[host]]


@pytest.mark.parametrize(
    ("url", "reach"),
    [
        ("https://public.example/hook", Reachability.YES),
        ("https://PUBLIC.example:8443", Reachability.YES),
        ("https://münchen.example", Reachability.YES),
        ("http://public.example", Reachability.NOT_HTTPS),
        ("ftp://public.example", Reachability.NOT_HTTPS),
        ("https://half.example", Reachability.REFUSED),
        ("https://inside.example", Reachability.REFUSED),
        ("https://2130706433/", Reachability.REFUSED),
        ("https://unknown.example", Reachability.NO_NAME),
        ("https://empty.example", Reachability.NO_NAME),
        ("https://[broken", Reachability.NO_NAME),
        ("https://public.example:port", Reachability.NO_NAME),
    ],
)
async def test_it_works(url: str, reach: Reachability) -> None:
    assert await check_address(url, resolve, allowed=(), allow_http=False) is reach


async def test_what_the_operator_allows_can_be_called() -> None:
    allowed = [ip_network("10.0.0.0/8")]

    assert await check_address("http://inside.example", resolve, allowed=allowed, allow_http=True) is Reachability.YES
