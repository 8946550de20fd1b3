# SPDX-License-Identifier: Apache-2.0
"""The lifecycle of requests follows its model, whatever callers, workers, the directory and the operator do."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from chamberlain.embedded import postgres
from tests.requests.lifecycle import lifecycle

# The same examples in every run; `python3 dev.py prove lifecycle` draws others, and more of them.
BUDGET = settings(
    max_examples=40,
    stateful_step_count=40,
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.heavy
@pytest.mark.timeout(300)
def test_it_works(postgres_server: postgres.Server) -> None:
    with lifecycle(postgres_server) as machine:
        run_state_machine_as_test(machine, settings=BUDGET)

    # Examples that never come to an end would prove little.
    assert machine.ended.keys() == {"pendingApproval", "succeeded", "failed", "rejected", "cancelled", "expired"}
