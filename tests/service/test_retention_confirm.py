# SPDX-License-Identifier: Apache-2.0
"""`chamberlain retention confirm`, and how `doctor` shows a doubted clock."""

import json

import pytest

from tests.services import Outside, outside_database, run_command

WAS_OFF = """
INSERT INTO chamberlain.clock (seen_at, trusted_at) VALUES (now() - interval '21 days', now() - interval '21 days')
RETURNING true
"""
CONFIRMED = "SELECT trusted_at > now() - interval '1 minute' AND confirmed_by IS NOT NULL FROM chamberlain.clock"


@pytest.mark.heavy
def test_an_installation_that_was_off_for_three_weeks_is_confirmed_once() -> None:
    with outside_database() as outside:
        outside.value(WAS_OFF)
        before = retention_of(outside)

        first, second = (run_command("retention", "confirm", environment=outside.environment) for _ in range(2))

        assert before == "fault"
        assert (first.returncode, second.returncode) == (0, 0)
        assert first.stdout != second.stdout
        assert outside.value(CONFIRMED) is True
        assert retention_of(outside) == "ok"


def retention_of(outside: Outside) -> str:
    """The state that `doctor` shows for retention."""
    shown = run_command("doctor", "--json", "--data-dir", str(outside.folder), environment=outside.environment)
    (state,) = [each["state"] for each in json.loads(shown.stdout)["checks"] if each["name"] == "retention"]
    return str(state)
