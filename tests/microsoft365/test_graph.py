# SPDX-License-Identifier: Apache-2.0
"""Requests of the adapter: batches, tokens, faults and pages."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from chamberlain.core.errors import Cause, ConnectionBroken, Rejected, TryAgain
from chamberlain.core.ids import GroupId
from chamberlain.directory.microsoft365.calls import groups, people, teams
from chamberlain.directory.microsoft365.operations import OPERATIONS
from chamberlain.directory.microsoft365.tokens import Certificate, Secret, Tokens
from chamberlain.directory.microsoft365.wire.faults import PermissionMissing, Refused
from chamberlain.directory.microsoft365.wire.graph import Graph
from tests.directory.sample_directory import ADA, GIL, INNER, NOBODY, OUTER, PARTNERS, TENANT, VISITORS
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.certificates import new_certificate
from tests.microsoft365.fake.faults import Fault
from tests.microsoft365.fake.sample import APP, PERMISSIONS
from tests.microsoft365.permissions import sufficient
from tests.microsoft365.recording_transport import RecordingTransport, published_operations
from tests.microsoft365.stage import graph_of, settings

EXTENSION = "chamberlain_group"


@pytest.fixture
def strict(fake: FakeMicrosoft365) -> RecordingTransport:
    """The recorder under the adapter."""
    return RecordingTransport(fake.transport())


@pytest.fixture
async def wire(fake: FakeMicrosoft365, strict: RecordingTransport) -> AsyncIterator[Graph]:
    """The adapter's client of Graph, on the fake."""
    async with graph_of(fake, TENANT, strict) as found:
        yield found


async def test_it_works(wire: Graph, strict: RecordingTransport) -> None:
    found = await groups.get_group(wire, PARTNERS, EXTENSION)

    assert found is not None
    assert (found.display_name, found.is_team, found.mail) == ("Partners", True, "partners@estate.example")
    assert strict.sent == 1


async def test_concurrent_calls_are_one_batch(wire: Graph, strict: RecordingTransport) -> None:
    ids = (PARTNERS, OUTER, INNER, VISITORS, GroupId(NOBODY))

    found = await asyncio.gather(*(groups.get_group(wire, each, EXTENSION) for each in ids))

    assert [each and each.id for each in found] == [PARTNERS, OUTER, INNER, VISITORS, None]
    assert (strict.sent, len(strict.exchanges)) == (1, 5)


async def test_calls_of_teams_are_a_batch_of_their_own(wire: Graph, strict: RecordingTransport) -> None:
    # They take seconds, and a batch is as slow as its slowest part.
    read = [groups.get_group(wire, each, EXTENSION) for each in (PARTNERS, OUTER)]

    await asyncio.gather(*read, *(teams.list_channels(wire, PARTNERS) for _ in range(2)))

    assert (strict.sent, len(strict.exchanges)) == (2, 4)


async def test_a_batch_has_at_most_twenty_parts(wire: Graph, strict: RecordingTransport) -> None:
    await asyncio.gather(*(groups.get_group(wire, PARTNERS, EXTENSION) for _ in range(45)))

    assert strict.sent == 3


async def test_a_refused_part_fails_alone(wire: Graph, fake: FakeMicrosoft365) -> None:
    fake.faults.plan(Fault.GATEWAY_TIMEOUT, method="PATCH")

    failed, done = await asyncio.gather(
        groups.update_group(wire, PARTNERS, {"description": "a"}),
        groups.get_group(wire, PARTNERS, EXTENSION),
        return_exceptions=True,
    )

    assert isinstance(failed, TryAgain)
    assert failed.cause is Cause.AWAY
    assert not isinstance(done, BaseException)


async def test_a_read_is_repeated(wire: Graph, fake: FakeMicrosoft365) -> None:
    fake.faults.plan(Fault.DROPPED)
    fake.faults.plan(Fault.THROTTLED)

    assert await groups.get_group(wire, PARTNERS, EXTENSION) is not None


async def test_a_write_is_not_repeated(wire: Graph, fake: FakeMicrosoft365, strict: RecordingTransport) -> None:
    fake.faults.plan(Fault.LOST_ANSWER)

    with pytest.raises(TryAgain) as failed:
        await groups.update_group(wire, PARTNERS, {"description": "a"})

    assert (failed.value.cause, strict.sent) == (Cause.AWAY, 1)


async def test_a_throttled_write_waits_as_long_as_graph_says(wire: Graph, fake: FakeMicrosoft365) -> None:
    fake.faults.plan(Fault.THROTTLED)

    with pytest.raises(TryAgain) as failed:
        await groups.update_group(wire, PARTNERS, {"description": "a"})

    assert (failed.value.cause, failed.value.after) == (Cause.BUSY, timedelta(seconds=7))


async def test_a_revoked_token_is_replaced(wire: Graph, fake: FakeMicrosoft365) -> None:
    await groups.get_group(wire, PARTNERS, EXTENSION)
    fake.tokens.revoke_all()

    assert await groups.get_group(wire, PARTNERS, EXTENSION) is not None


async def test_a_refused_fresh_token_breaks_the_connection(wire: Graph, fake: FakeMicrosoft365) -> None:
    fake.faults.plan(Fault.TOKEN_REVOKED, times=2)

    with pytest.raises(ConnectionBroken):
        await groups.get_group(wire, PARTNERS, EXTENSION)


async def test_a_read_without_its_permission_names_it(wire: Graph, fake: FakeMicrosoft365) -> None:
    fake.consent(str(TENANT), str(APP), {*PERMISSIONS} - {"AuditLog.Read.All"})

    with pytest.raises(PermissionMissing) as missing:
        await people.get_activity(wire, GIL)

    assert "AuditLog.Read.All" in missing.value.reason


async def test_a_denied_write_breaks_nothing(wire: Graph) -> None:
    with pytest.raises(Rejected) as refused:
        await groups.bind_members(wire, VISITORS, [ADA])

    assert isinstance(refused.value, Refused)
    assert (refused.value.is_denied, refused.value.code) == (True, "refusedByDirectory")


async def test_an_extension_that_is_not_registered_has_no_marks(wire: Graph) -> None:
    found = await groups.get_group(wire, PARTNERS, "other_group")

    assert found is not None
    assert found.marks == {}


async def test_a_certificate_gets_a_token(fake: FakeMicrosoft365) -> None:
    certificate = new_certificate()
    fake.add_app(str(APP), public_key=certificate.public_key)
    credential = Certificate(certificate.private_key, certificate.certificate)

    tokens = Tokens(settings(TENANT, credential).application, fake.http_client())

    assert await tokens.token()


async def test_a_wrong_secret_breaks_the_connection(fake: FakeMicrosoft365) -> None:
    tokens = Tokens(settings(TENANT, Secret("wrong")).application, fake.http_client())

    with pytest.raises(ConnectionBroken) as broken:
        await tokens.token()

    assert "AADSTS7000215" in broken.value.reason


@pytest.mark.pure
def test_each_operation_is_published_and_its_permission_suffices() -> None:
    known = {each.name: each for each in OPERATIONS if each.name != "POST /users/{user-id}/revokeSignInSessions"}

    assert {each.name for each in OPERATIONS} <= published_operations()
    # The sign-in activity has a permission beside that of its operation.
    activity = {"AuditLog.Read.All"}
    assert [name for name, each in known.items() if each.permission not in sufficient(name) | activity] == []
