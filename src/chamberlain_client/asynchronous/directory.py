"""The directory: whether the group of a request is there."""

from chamberlain_client import operations
from chamberlain_client.answers import decoded
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import Id, id_of, reading
from chamberlain_client.errors import GroupNotVisibleYet
from chamberlain_client.models.directory import DirectoryGroup, DirectoryGroups
from chamberlain_client.models.groups import AcceptedGroup
from chamberlain_client.waits import looks_for_group


class AsyncDirectory:
    """The suite itself, which is read only. It takes tokens of its own audience."""

    def __init__(self, transport: AsyncTransport, extension_prefix: str) -> None:
        self._transport = transport
        self._prefix = extension_prefix

    async def find_group(self, request_id: Id) -> DirectoryGroup | None:
        """The group or team of a request; None as long as the directory does not show it."""
        query = {"$filter": f"{self._prefix}_group/requestId eq '{id_of(request_id)}'"}
        found = decoded(await self._transport.send(reading(operations.FIND_GROUP, query=query)), DirectoryGroups)
        return found.value[0] if found.value else None

    async def wait_for_group(self, asked: AcceptedGroup | Id, *, retry_after: float | None = None) -> DirectoryGroup:
        """The group or team of a request, as soon as the directory shows it. Looks first after `retry_after` seconds,
        by default those of the answer that accepted it, else 20, and at most 300; then every 10, or as often as that.
        Raises GroupNotVisibleYet 30 seconds after the first look: it is not visible yet, and has not failed."""
        if isinstance(asked, AcceptedGroup):
            retry_after = asked.retry_after if retry_after is None else retry_after
            asked = asked.request_id
        for seconds in looks_for_group(retry_after):
            await self._transport.clock.sleep(seconds)
            group = await self.find_group(asked)
            if group is not None:
                return group
        raise GroupNotVisibleYet(id_of(asked))
