# SPDX-License-Identifier: Apache-2.0
"""The webhooks that an operator has to check."""

from dataclasses import replace

import pytest

from chamberlain.core.health import HealthState
from chamberlain.core.ids import TemplateId
from chamberlain.webhooks.models import Reachability, WebhookTarget
from chamberlain.webhooks.rules import check_targets
from tests.auth.editor_values import NOW
from tests.groups.group_values import REQUEST, TENANT

pytestmark = pytest.mark.pure

OK, WARNING, FAULT = HealthState.OK, HealthState.WARNING, HealthState.FAULT
TARGET = WebhookTarget(
    tenant_id=TENANT,
    template_id=TemplateId(REQUEST),
    template_name="Project group",
    url="https://hooks.example/",
    active=True,
    failing_since=None,
    disabled_reason=None,
)
FAILING = replace(TARGET, failing_since=NOW)
DISABLED = replace(TARGET, disabled_reason="Gone.")
OFF = replace(TARGET, active=False, url="https://nowhere.example/")


@pytest.mark.parametrize(
    ("targets", "reach", "states"),
    [
        ([], Reachability.YES, [OK]),
        ([OFF], Reachability.YES, [OK]),
        ([TARGET, OFF], Reachability.YES, [OK]),
        ([TARGET], Reachability.NOT_HTTPS, [FAULT]),
        ([TARGET], Reachability.NO_NAME, [FAULT]),
        ([TARGET], Reachability.REFUSED, [FAULT]),
        ([FAILING], Reachability.YES, [WARNING]),
        ([DISABLED], Reachability.REFUSED, [WARNING]),
        ([TARGET, FAILING, DISABLED], Reachability.YES, [WARNING, WARNING, OK]),
        ([FAILING, DISABLED, OFF], Reachability.YES, [WARNING, WARNING]),
    ],
)
def test_it_works(targets: list[WebhookTarget], reach: Reachability, states: list[HealthState]) -> None:
    found = check_targets(targets, {TARGET.url: reach})

    assert [(each.name, each.state) for each in found] == [("webhooks", state) for state in states]
    assert all(TARGET.url not in each.seen for each in found)


def test_it_counts_those_that_can_be_called() -> None:
    *_, last = check_targets([TARGET, TARGET, FAILING, OFF], {TARGET.url: Reachability.YES})

    assert "2 of 3" in last.seen
