# SPDX-License-Identifier: Apache-2.0
"""A few kills of each part; `python3 dev.py prove suite-kills` has the full counts."""

import pytest

from deploy.suite.folder import Suite
from deploy.suite.servers import Starter
from tests.suite.suite_kills import WORKER, kill_while_creating

KILLS = 10


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("part", [WORKER, "slapd", "synapse", "dovecot"])
def test_it_works_through_kills(suite: Suite, starter: Starter, part: str) -> None:
    outcome = kill_while_creating(suite, starter, part, KILLS)

    assert outcome.is_good, outcome
