# SPDX-License-Identifier: Apache-2.0
"""Mailboxes and their templates."""

from collections.abc import Mapping
from typing import Literal, overload

from msgspec import structs

from chamberlain_client import operations
from chamberlain_client.asynchronous.transport import AsyncPages, AsyncResource
from chamberlain_client.calls import Id, build_change, build_get, build_post
from chamberlain_client.models import (
    AcceptedMailbox,
    DryRunMailbox,
    Mailbox,
    MailboxTemplate,
    MailboxTemplateForm,
    MailboxType,
    NewMailbox,
    NewMailboxTemplate,
    OfferedMailboxTemplate,
    ProvisioningState,
)
from chamberlain_client.responses import Response, decode, with_etag

MailboxTemplateBody = NewMailboxTemplate | MailboxTemplate | Mapping[str, object]


class AsyncMailboxes(AsyncResource):
    """Shared mailboxes, equipment and rooms."""

    @overload
    async def create(
        self,
        mailbox: NewMailbox | Mapping[str, object],
        *,
        dry_run: Literal[False] = False,
        wait: float | None = None,
        idempotency_key: str | None = None,
    ) -> AcceptedMailbox: ...

    @overload
    async def create(self, mailbox: NewMailbox | Mapping[str, object], *, dry_run: Literal[True]) -> DryRunMailbox: ...

    @overload
    async def create(
        self,
        mailbox: NewMailbox | Mapping[str, object],
        *,
        dry_run: bool,
        wait: float | None = None,
        idempotency_key: str | None = None,
    ) -> AcceptedMailbox | DryRunMailbox: ...

    async def create(
        self,
        mailbox: NewMailbox | Mapping[str, object],
        *,
        dry_run: bool = False,
        wait: float | None = None,
        idempotency_key: str | None = None,
    ) -> AcceptedMailbox | DryRunMailbox:
        """Request a mailbox, or do a dry run.

        The service waits up to `wait` seconds, at most 30, until the mailbox is active. Raises NotPossible, Conflict
        and any Refused.
        """
        call = build_post(operations.CREATE_MAILBOX, body=mailbox, key=idempotency_key, dry_run=dry_run, wait=wait)
        response = await self._transport.send(call)
        if dry_run:
            return decode(response, DryRunMailbox)
        accepted = decode(response, AcceptedMailbox)
        return structs.replace(accepted, retry_after=response.retry_after, replayed=response.replayed)

    async def get(self, mailbox_id: Id) -> Mailbox:
        """Read one mailbox.

        Raises NotFound, also if the caller may not read it.
        """
        return await self._get(Mailbox, operations.READ_MAILBOX, mailbox_id)

    def list(
        self,
        *,
        type: MailboxType | str | None = None,  # noqa: A002  The word of the API.
        provisioning_state: ProvisioningState | str | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[Mailbox]:
        """List mailboxes, newest first.

        `q` is a prefix of a name or address; `limit` is the size of a page.
        """
        query = {"type": type, "provisioningState": provisioning_state, "q": q, "limit": limit, "cursor": cursor}
        return self._list(Mailbox, operations.LIST_MAILBOXES, **query)


class AsyncMailboxTemplates(AsyncResource):
    """Templates of mailboxes."""

    def offered(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[OfferedMailboxTemplate]:
        """List templates that the caller may use, with form data, newest first."""
        return self._list(OfferedMailboxTemplate, operations.LIST_OFFERED_MAILBOX_TEMPLATES, limit=limit, cursor=cursor)

    async def form(self, template_id: Id) -> MailboxTemplateForm:
        """Read a template with all that a form needs.

        Raises NotFound, and Forbidden if the caller may not use it.
        """
        call = build_get(operations.READ_OFFERED_MAILBOX_TEMPLATE, template_id)
        return decode(await self._transport.send(call), MailboxTemplateForm)

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[MailboxTemplate]:
        """List all templates, active or not, newest first."""
        return self._list(MailboxTemplate, operations.LIST_MAILBOX_TEMPLATES, limit=limit, cursor=cursor)

    async def create(self, template: MailboxTemplateBody, *, idempotency_key: str | None = None) -> MailboxTemplate:
        """Create a template.

        Only this response shows a generated webhook secret. Raises NotPossible.
        """
        call = build_post(operations.CREATE_MAILBOX_TEMPLATE, body=template, key=idempotency_key)
        return _read(await self._transport.send(call))

    async def get(self, template_id: Id) -> MailboxTemplate:
        """Read one template with its `etag`. Raises NotFound."""
        return _read(await self._transport.send(build_get(operations.READ_MAILBOX_TEMPLATE, template_id)))

    async def replace(
        self, template_id: Id, template: MailboxTemplateBody, *, if_match: str | None = None
    ) -> MailboxTemplate:
        """Replace a template as a whole.

        You can send a template that you have read and changed. Raises NotFound, NotPossible, and Stale if `if_match` is
        not its version any more.
        """
        call = build_change(operations.REPLACE_MAILBOX_TEMPLATE, template_id, body=template, if_match=if_match)
        return _read(await self._transport.send(call))

    async def delete(self, template_id: Id, *, if_match: str | None = None) -> None:
        """Delete a template; its mailboxes stay. Raises NotFound and Stale."""
        await self._transport.send(build_change(operations.DELETE_MAILBOX_TEMPLATE, template_id, if_match=if_match))


def _read(response: Response) -> MailboxTemplate:
    return with_etag(decode(response, MailboxTemplate), response)
