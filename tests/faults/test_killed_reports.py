# SPDX-License-Identifier: Apache-2.0
"""A worker is killed while it takes the actions of policies and tells of them by mail: in the end there is one report
of each group, which names everybody."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Thread

import pytest

from tests.fake_smtp_server import FakeSmtpServer, open_smtp_server
from tests.faults.test_killed_policies import GROUPS, GUESTS, number, take_all_with_a_kill
from tests.services import outside_database, wait_until

# Reports wait five minutes at most for what was cut short, and a killed worker's leases end long before.
ALL_TOLD_WITHIN = 120.0
LEFT = "SELECT count(*) FROM chamberlain.notice"


@pytest.mark.heavy
@pytest.mark.timeout(300)
def test_it_tells_of_every_group_once() -> None:
    with outside_database() as empty, running_smtp_server() as smtp_server:
        outside = replace(empty, environment={**empty.environment, "CHAMBERLAIN_SMTP_URL": smtp_server.url})
        take_all_with_a_kill(outside)
        wait_until(lambda: number(outside, LEFT) == 0, ALL_TOLD_WITHIN, lambda: str(number(outside, LEFT)))

        reports: dict[str, dict[str, set[str]]] = defaultdict(dict)
        for letter in smtp_server.received:
            text = letter.part("plain")
            (group,) = re.findall(r"^About (\S+) of", text, re.MULTILINE)
            reports[group][letter.message["Message-ID"]] = set(re.findall(r"^- Guest \d+ ", text, re.MULTILINE))
        assert len(reports) == GROUPS
        # A report is sent twice when its sending was not recorded, and is then the same.
        assert {len(of_group) for of_group in reports.values()} == {1}
        assert {len(guests) for of_group in reports.values() for guests in of_group.values()} == {GUESTS}


@contextmanager
def running_smtp_server() -> Iterator[FakeSmtpServer]:
    """Run an SMTP server in a thread."""
    smtp_server, loop, end = FakeSmtpServer(), asyncio.new_event_loop(), asyncio.Event()
    is_open = asyncio.Event()

    async def stand() -> None:
        async with open_smtp_server(smtp_server):
            is_open.set()
            await end.wait()

    thread = Thread(target=loop.run_until_complete, args=(stand(),))
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(is_open.wait(), loop).result(timeout=10)
        yield smtp_server
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
        loop.close()
