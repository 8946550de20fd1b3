# Made by `python3 dev.py twin` from asynchronous/jobs.py, which is the one to be changed.
"""Jobs that wait for a person are listed and released."""

from msgspec import UNSET, UnsetType

from chamberlain_client import operations
from chamberlain_client.answers import decoded, items_of
from chamberlain_client.calls import Id, posting, said
from chamberlain_client.models.jobs import Job
from chamberlain_client.synchronous.pages import Pages
from chamberlain_client.synchronous.transport import Transport


class Jobs:
    """Held jobs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[Job]:
        """Held jobs, newest first. `limit` is how many a page has."""
        query = {"limit": limit, "cursor": cursor}
        return Pages(self._transport, operations.LIST_JOBS, items_of(Job), query=query)

    def release(self, job_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None) -> Job:
        """Let one run again. Raises NotFound."""
        call = posting(operations.RELEASE_JOB, job_id, body=said(comment), key=idempotency_key)
        return decoded(self._transport.send(call), Job)
