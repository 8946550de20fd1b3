# SPDX-License-Identifier: Apache-2.0
"""Background parts of a process: none of them dies in silence."""

import asyncio
import logging

import pytest

from chamberlain.app.processes import running, stopping_by_signal


async def forever() -> None:
    await asyncio.Event().wait()


async def broken() -> None:
    raise ValueError("broken by purpose")


async def test_it_works() -> None:
    async with running(forever()):
        pass


async def test_a_part_that_dies_is_reported_at_once_and_stops_the_process(caplog: pytest.LogCaptureFixture) -> None:
    stop = stopping_by_signal()

    with pytest.raises(ValueError, match="broken by purpose"), caplog.at_level(logging.ERROR):
        async with running(broken()):
            await asyncio.wait_for(stop.wait(), timeout=5)

    assert "A part of the process has ended by a bug" in caplog.text
