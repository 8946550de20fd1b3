# SPDX-License-Identifier: Apache-2.0
"""An editor of administered objects, for the tests of the audit entries."""

from datetime import UTC, datetime

from chamberlain.auth.models import Actor, ActorType, Editor
from chamberlain.core.ids import ClientId, TraceId
from tests.groups.group_values import ADA

NOW = datetime(2026, 11, 20, 9, 30, 1, tzinfo=UTC)
TRACE = TraceId("4bf92f3577b34da6a3ce929d0e0e4736")
EDITOR = Editor(Actor(ActorType.USER, ADA, "Ada Achterberg"), ClientId("cli"), TRACE, "192.0.2.1")
