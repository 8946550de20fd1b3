"""Templates of groups, teams and guests are administered; those of groups and teams are offered to those who ask."""

from collections.abc import Mapping

from chamberlain_client import operations
from chamberlain_client.answers import Answer, items_of, versioned
from chamberlain_client.asynchronous.pages import AsyncPages
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import Id, changing, posting, reading
from chamberlain_client.kinds import collab_template_of
from chamberlain_client.models.collab_templates import CollabTemplate, NewCollabTemplate, OfferedGroupTemplate

Written = NewCollabTemplate | CollabTemplate | Mapping[str, object]


class AsyncCollabTemplates:
    """How groups and teams are made, and how guests are treated."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def offered(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[OfferedGroupTemplate]:
        """Those that the caller may use, with what a form needs, newest first. `limit` is how many a page has."""
        query = {"limit": limit, "cursor": cursor}
        decode = items_of(OfferedGroupTemplate)
        return AsyncPages(self._transport, operations.LIST_OFFERED_GROUP_TEMPLATES, decode, query=query)

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[CollabTemplate]:
        """All of them, active or not, newest first. `limit` is how many a page has."""
        query = {"limit": limit, "cursor": cursor}
        return AsyncPages(self._transport, operations.LIST_COLLAB_TEMPLATES, collab_template_of, query=query)

    async def create(self, template: Written, *, idempotency_key: str | None = None) -> CollabTemplate:
        """Make one. A secret that was made for its webhook is shown here and never again. Raises NotPossible."""
        call = posting(operations.CREATE_COLLAB_TEMPLATE, body=template, key=idempotency_key)
        return _read(await self._transport.send(call))

    async def get(self, template_id: Id) -> CollabTemplate:
        """One of them, with its `etag`. Raises NotFound."""
        return _read(await self._transport.send(reading(operations.READ_COLLAB_TEMPLATE, template_id)))

    async def replace(self, template_id: Id, template: Written, *, if_match: str | None = None) -> CollabTemplate:
        """Let one be as is said, as a whole: what was read may be changed and given back. Raises NotFound, NotPossible,
        and Stale when it is not the version of `if_match` any more."""
        call = changing(operations.REPLACE_COLLAB_TEMPLATE, template_id, body=template, if_match=if_match)
        return _read(await self._transport.send(call))

    async def delete(self, template_id: Id, *, if_match: str | None = None) -> None:
        """Remove one; what was made with it stays. Raises NotFound, Stale, and Conflict when it is in use."""
        await self._transport.send(changing(operations.DELETE_COLLAB_TEMPLATE, template_id, if_match=if_match))


def _read(answer: Answer) -> CollabTemplate:
    return versioned(collab_template_of(answer.content), answer)
