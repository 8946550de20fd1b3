# SPDX-License-Identifier: Apache-2.0
"""The release service and its job over an estate."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from chamberlain.auth.models import Caller
from chamberlain.core.idempotency import Act, IdempotencyKey
from chamberlain.core.ids import ReleaseId, RequestId
from chamberlain.directory.embedded.adoptions import EmbeddedAdoptions
from chamberlain.queue.models import JobKind
from chamberlain.releases.jobs import ReleaseJobs
from chamberlain.releases.models import ReleasePreview, ReleaseType, ReleaseView
from chamberlain.releases.service import ReleaseService
from tests.adoptions.adoption_fixture import AdoptionsWithFaults
from tests.estates import ADA, TRACE, Estate
from tests.guests.assignments.guest_fixture import GuestFixture, guest_fixture, make_due
from tests.requests.request_services import administrator, workers

ALL = tuple(ReleaseType)


@dataclass
class ReleaseFixture:
    """Releases of one process, with the guest rules of the same estate."""

    estate: Estate
    guests: GuestFixture
    port: AdoptionsWithFaults
    service: ReleaseService
    jobs: ReleaseJobs

    async def preview(self, types: Sequence[ReleaseType] = ALL, caller: Caller | None = None) -> ReleasePreview:
        return await self.service.preview(caller or administrator(ADA), types)

    async def start(
        self, types: Sequence[ReleaseType] = ALL, caller: Caller | None = None, key: str | None = None
    ) -> ReleaseId:
        act = Act("They leave.", None if key is None else IdempotencyKey(key, b"start"), TRACE, None)
        answer = await self.service.start(caller or administrator(ADA), types, act, rendered)
        return ReleaseId(UUID(answer.body.decode()))

    async def work(self) -> None:
        """Run due jobs of releases once."""
        await make_due(self.estate)
        await self.jobs.run(await self.estate.claim(kinds=[JobKind.RELEASE_RUN]))

    async def read(self, release_id: ReleaseId) -> ReleaseView:
        return await self.service.read(administrator(ADA), release_id)

    async def release(self, types: Sequence[ReleaseType] = ALL) -> ReleaseView:
        """Run a release to its end."""
        release_id = await self.start(types)
        # One run is enough while the directory answers.
        await self.work()
        return await self.read(release_id)

    async def left(self, request_ids: Collection[RequestId]) -> list[tuple[object, ...]]:
        """The rows that are left of these requests."""
        return await self.estate.rows(
            "SELECT 'request' FROM chamberlain.request WHERE request_id = ANY ($1) UNION ALL "
            "SELECT 'mailbox' FROM chamberlain.mailbox WHERE request_id = ANY ($1) UNION ALL "
            "SELECT 'reader' FROM chamberlain.mailbox_reader WHERE request_id = ANY ($1) UNION ALL "
            "SELECT 'name' FROM chamberlain.reservation WHERE request_id = ANY ($1) UNION ALL "
            "SELECT 'key' FROM chamberlain.idempotency_key WHERE request_id = ANY ($1) UNION ALL "
            "SELECT 'subject' FROM chamberlain.subject WHERE request_id = ANY ($1)",
            list(request_ids),
        )


def rendered(view: ReleaseView) -> bytes:
    return str(view.record.id).encode()


def release_fixture(estate: Estate, *, page: int = 50, new_id: Callable[[], UUID] = uuid4) -> ReleaseFixture:
    """The parts of one process."""
    database, worker = estate.databases.application, estate.databases.worker
    port = AdoptionsWithFaults(EmbeddedAdoptions(worker.pool))
    guests = guest_fixture(estate)
    return ReleaseFixture(
        estate=estate,
        guests=guests,
        port=port,
        service=ReleaseService(database, estate.authorization(), workers(estate), new_id, estate.now),
        jobs=ReleaseJobs(worker, port, estate.directory, guests.guests, new_id, estate.now, page),
    )
