# SPDX-License-Identifier: Apache-2.0
"""Names in the audit trail: programs get the name that the identity platform knows."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.audit.models import AuditClient, AuditRecord, named
from chamberlain.auth.models import SERVICE, Actor, ActorType
from chamberlain.core.ids import ClientId, TenantId, TraceId

pytestmark = pytest.mark.pure

PROGRAM = UUID(int=7)
NAMES = {ClientId(str(PROGRAM)): "Importer", ClientId("portal"): "Portal"}


def record(actor: Actor | None, client: AuditClient | None) -> AuditRecord:
    return AuditRecord(
        sequence=1,
        at=datetime(2026, 11, 20, tzinfo=UTC),
        tenant_id=TenantId(UUID(int=1)),
        action="group.create",
        actor=actor,
        client=client,
        subject=None,
        before=None,
        after=None,
        request_id=None,
        trace_id=TraceId("0" * 32),
        client_address=None,
        seal=None,
        is_erased=False,
    )


@pytest.mark.parametrize(
    ("actor", "name"),
    [
        (Actor(ActorType.APPLICATION, PROGRAM, ""), "Importer"),
        (Actor(ActorType.APPLICATION, PROGRAM, "Old name"), "Old name"),
        (Actor(ActorType.APPLICATION, UUID(int=8), ""), ""),
        (Actor(ActorType.USER, PROGRAM, ""), ""),
        (SERVICE, "Chamberlain"),
    ],
)
def test_an_application_without_a_name_gets_its_known_name(actor: Actor, name: str) -> None:
    found = named(record(actor, None), NAMES).actor

    assert found is not None
    assert found.display_name == name


def test_the_client_gets_its_known_name_or_none() -> None:
    assert named(record(None, AuditClient(ClientId("portal"), "")), NAMES).client == AuditClient(
        ClientId("portal"), "Portal"
    )
    assert named(record(None, AuditClient(ClientId("other"), "x")), NAMES).client == AuditClient(ClientId("other"), "")


def test_an_emptied_row_stays_as_it_is() -> None:
    assert named(record(None, None), NAMES) == record(None, None)
