# Made by `python3 dev.py twin` from asynchronous/mailboxes.py, which is the one to be changed.
"""Mailboxes are asked for, read and listed."""

from collections.abc import Mapping
from typing import Literal, overload

import msgspec

from chamberlain_client import operations
from chamberlain_client.answers import decoded, items_of
from chamberlain_client.calls import Id, posting, reading
from chamberlain_client.models.mailboxes import AcceptedMailbox, Mailbox, MailboxType, NewMailbox, ProvisioningState
from chamberlain_client.models.rehearsals import RehearsedMailbox
from chamberlain_client.synchronous.pages import Pages
from chamberlain_client.synchronous.transport import Transport


class Mailboxes:
    """Shared mailboxes, equipment and rooms."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @overload
    def create(
        self,
        mailbox: NewMailbox | Mapping[str, object],
        *,
        dry_run: Literal[False] = False,
        wait: float | None = None,
        idempotency_key: str | None = None,
    ) -> AcceptedMailbox: ...

    @overload
    def create(self, mailbox: NewMailbox | Mapping[str, object], *, dry_run: Literal[True]) -> RehearsedMailbox: ...

    @overload
    def create(
        self,
        mailbox: NewMailbox | Mapping[str, object],
        *,
        dry_run: bool,
        wait: float | None = None,
        idempotency_key: str | None = None,
    ) -> AcceptedMailbox | RehearsedMailbox: ...

    def create(
        self,
        mailbox: NewMailbox | Mapping[str, object],
        *,
        dry_run: bool = False,
        wait: float | None = None,
        idempotency_key: str | None = None,
    ) -> AcceptedMailbox | RehearsedMailbox:
        """Ask for a mailbox; with `dry_run`, say what would come of it. `wait` is how many seconds, at most 30, the
        service may wait until the mailbox is active. Raises NotPossible, Conflict and any Refused."""
        call = posting(operations.CREATE_MAILBOX, body=mailbox, key=idempotency_key, dry_run=dry_run, wait=wait)
        answer = self._transport.send(call)
        if dry_run:
            return decoded(answer, RehearsedMailbox)
        accepted = decoded(answer, AcceptedMailbox)
        return msgspec.structs.replace(accepted, retry_after=answer.retry_after, replayed=answer.replayed)

    def get(self, mailbox_id: Id) -> Mailbox:
        """One mailbox. Raises NotFound, also for one that is not the caller's to read."""
        return decoded(self._transport.send(reading(operations.READ_MAILBOX, mailbox_id)), Mailbox)

    def list(
        self,
        *,
        type: MailboxType | str | None = None,  # noqa: A002  The word of the API.
        provisioning_state: ProvisioningState | str | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[Mailbox]:
        """Mailboxes, newest first; those whose name or an address begins with `q`. `limit` is how many a page has."""
        query = {"type": type, "provisioningState": provisioning_state, "q": q, "limit": limit, "cursor": cursor}
        return Pages(self._transport, operations.LIST_MAILBOXES, items_of(Mailbox), query=query)
