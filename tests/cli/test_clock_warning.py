# SPDX-License-Identifier: Apache-2.0
"""The warning of a command whose machine has a wrong clock."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest

from chamberlain.cli.calls import ClockWarning


def answer(difference: timedelta) -> httpx2.Response:
    """An answer of a service whose clock differs from ours."""
    return httpx2.Response(200, headers={"date": format_datetime(datetime.now(UTC) + difference, usegmt=True)})


def test_a_command_warns_once_of_a_clock_an_hour_off(capsys: pytest.CaptureFixture[str]) -> None:
    warning = ClockWarning()

    warning(answer(timedelta(hours=-1)))
    warning(answer(timedelta(hours=-1)))

    written = capsys.readouterr()
    assert (len(written.err.splitlines()), written.out) == (1, "")
    assert "clock differs from the service" in written.err


@pytest.mark.parametrize("headers", [{}, {"date": "yesterday"}])
def test_an_answer_without_a_time_is_no_warning(headers: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    ClockWarning()(httpx2.Response(200, headers=headers))
    ClockWarning()(answer(timedelta(seconds=20)))

    assert capsys.readouterr().err == ""
