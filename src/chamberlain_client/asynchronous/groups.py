# SPDX-License-Identifier: Apache-2.0
"""Groups and teams, their templates, and groups in the directory."""

from collections.abc import Mapping
from typing import Literal, overload

from msgspec import structs

from chamberlain_client import operations
from chamberlain_client.asynchronous.transport import AsyncPages, AsyncResource, AsyncTransport
from chamberlain_client.calls import Id, build_change, build_get, build_post, parse_id
from chamberlain_client.errors import GroupNotVisibleYet
from chamberlain_client.models import (
    AcceptedGroup,
    CollabTemplate,
    DirectoryGroup,
    DirectoryGroups,
    DryRunGroup,
    GroupTemplateForm,
    NewCollabTemplate,
    NewGroup,
    OfferedGroupTemplate,
)
from chamberlain_client.responses import Response, decode, decode_collab_template, with_etag
from chamberlain_client.timing import group_poll_intervals

CollabTemplateBody = NewCollabTemplate | CollabTemplate | Mapping[str, object]


class AsyncGroups(AsyncResource):
    """Groups and teams; the template decides."""

    @overload
    async def create(
        self,
        group: NewGroup | Mapping[str, object],
        *,
        dry_run: Literal[False] = False,
        wait: float | None = None,
        idempotency_key: str | None = None,
    ) -> AcceptedGroup: ...

    @overload
    async def create(self, group: NewGroup | Mapping[str, object], *, dry_run: Literal[True]) -> DryRunGroup: ...

    @overload
    async def create(
        self,
        group: NewGroup | Mapping[str, object],
        *,
        dry_run: bool,
        wait: float | None = None,
        idempotency_key: str | None = None,
    ) -> AcceptedGroup | DryRunGroup: ...

    async def create(
        self,
        group: NewGroup | Mapping[str, object],
        *,
        dry_run: bool = False,
        wait: float | None = None,
        idempotency_key: str | None = None,
    ) -> AcceptedGroup | DryRunGroup:
        """Request a group or team, or do a dry run.

        The service waits up to `wait` seconds, at most 30, until the group exists. Raises NotPossible, Conflict,
        Forbidden and any Refused.
        """
        call = build_post(operations.CREATE_GROUP, body=group, key=idempotency_key, dry_run=dry_run, wait=wait)
        response = await self._transport.send(call)
        if dry_run:
            return decode(response, DryRunGroup)
        accepted = decode(response, AcceptedGroup)
        return structs.replace(accepted, retry_after=response.retry_after, replayed=response.replayed)


class AsyncDirectory(AsyncResource):
    """Groups in the directory, read only.

    Calls need tokens of its own audience.
    """

    def __init__(self, transport: AsyncTransport, extension_prefix: str) -> None:
        super().__init__(transport)
        self._prefix = extension_prefix

    async def find_group(self, request_id: Id) -> DirectoryGroup | None:
        """Find the group of a request; None while it is not visible."""
        query = {"$filter": f"{self._prefix}_group/requestId eq '{parse_id(request_id)}'"}
        found = decode(await self._transport.send(build_get(operations.FIND_GROUP, query=query)), DirectoryGroups)
        return found.value[0] if found.value else None

    async def wait_for_group(self, asked: AcceptedGroup | Id, *, retry_after: float | None = None) -> DirectoryGroup:
        """Poll the directory until it shows the group of a request.

        The first poll is after `retry_after` seconds, at most 300. The default is that of the accepted response, else
        20. Later polls follow every 10 seconds, or as often as that. Raises GroupNotVisibleYet 30 seconds after the
        first poll. This does not mean that the request has failed.
        """
        if isinstance(asked, AcceptedGroup):
            retry_after = asked.retry_after if retry_after is None else retry_after
            asked = asked.request_id
        for seconds in group_poll_intervals(retry_after):
            await self._transport.clock.sleep(seconds)
            group = await self.find_group(asked)
            if group is not None:
                return group
        raise GroupNotVisibleYet(parse_id(asked))


class AsyncCollabTemplates(AsyncResource):
    """Templates of groups, teams and guests."""

    def offered(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[OfferedGroupTemplate]:
        """List templates that the caller may use, with form data, newest first."""
        return self._list(OfferedGroupTemplate, operations.LIST_OFFERED_GROUP_TEMPLATES, limit=limit, cursor=cursor)

    async def form(self, template_id: Id) -> GroupTemplateForm:
        """Read a template with all that a form needs.

        Raises NotFound, and Forbidden if the caller may not use it.
        """
        call = build_get(operations.READ_OFFERED_GROUP_TEMPLATE, template_id)
        return decode(await self._transport.send(call), GroupTemplateForm)

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[CollabTemplate]:
        """List all templates, active or not, newest first."""
        return AsyncPages(
            self._transport,
            operations.LIST_COLLAB_TEMPLATES,
            decode_collab_template,
            query={"limit": limit, "cursor": cursor},
        )

    async def create(self, template: CollabTemplateBody, *, idempotency_key: str | None = None) -> CollabTemplate:
        """Create a template.

        Only this response shows a generated webhook secret. Raises NotPossible.
        """
        call = build_post(operations.CREATE_COLLAB_TEMPLATE, body=template, key=idempotency_key)
        return _read(await self._transport.send(call))

    async def get(self, template_id: Id) -> CollabTemplate:
        """Read one template with its `etag`. Raises NotFound."""
        return _read(await self._transport.send(build_get(operations.READ_COLLAB_TEMPLATE, template_id)))

    async def replace(
        self, template_id: Id, template: CollabTemplateBody, *, if_match: str | None = None
    ) -> CollabTemplate:
        """Replace a template as a whole.

        You can send a template that you have read and changed. Raises NotFound, NotPossible, and Stale if `if_match` is
        not its version any more.
        """
        call = build_change(operations.REPLACE_COLLAB_TEMPLATE, template_id, body=template, if_match=if_match)
        return _read(await self._transport.send(call))

    async def delete(self, template_id: Id, *, if_match: str | None = None) -> None:
        """Delete a template; its groups stay.

        Raises NotFound, Stale, and Conflict if it is in use.
        """
        await self._transport.send(build_change(operations.DELETE_COLLAB_TEMPLATE, template_id, if_match=if_match))


def _read(response: Response) -> CollabTemplate:
    return with_etag(decode_collab_template(response.content), response)
