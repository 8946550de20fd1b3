"""Turns a batch of mailboxes into the columns that directory.ensure_mailboxes takes, as columns.py does for groups."""

from collections.abc import Sequence

import msgspec

from chamberlain.embedded.directory.columns import Columns
from chamberlain.embedded.directory.entries import MailboxEntry

_json = msgspec.json.Encoder()


def columns_of_mailboxes(entries: Sequence[MailboxEntry]) -> Columns:
    """All columns, those of the mailboxes first, then values, aliases, owners and permissions with the number of their
    mailbox. Their order is that of the parameters of directory.ensure_mailboxes behind the first."""
    return (
        *_mailboxes(entries),
        *_of_each([[*entry.values.items()] for entry in entries], width=2),
        *_of_each([[(alias,) for alias in entry.aliases] for entry in entries], width=1),
        *_of_each([[(owner,) for owner in entry.owners] for entry in entries], width=1),
        *_of_each([_permissions(entry) for entry in entries], width=3),
    )


def _mailboxes(entries: Sequence[MailboxEntry]) -> Columns:
    return (
        [entry.mark.tenant_id for entry in entries],
        [entry.id for entry in entries],
        [entry.mark.extension for entry in entries],
        [entry.mark.key for entry in entries],
        [entry.recipient_type for entry in entries],
        [entry.name for entry in entries],
        [entry.display_name for entry in entries],
        [entry.mail for entry in entries],
        [_written(entry.properties) for entry in entries],
        [_written(entry.contact) for entry in entries],
        [None if entry.place is None else _written(entry.place) for entry in entries],
        [entry.resource_capacity for entry in entries],
        [entry.automate_processing for entry in entries],
        [entry.additional_response for entry in entries],
        [entry.automatic_reply for entry in entries],
        [entry.quota_megabytes for entry in entries],
        [entry.is_hidden for entry in entries],
        [_written({entry.mark.extension: entry.values}) for entry in entries],
        [_written(entry.aliases) for entry in entries],
        [f"{{{','.join(map(str, entry.owners))}}}" for entry in entries],
    )


def _permissions(entry: MailboxEntry) -> Sequence[tuple[object, ...]]:
    wanted = [(user, one.access_right, one.auto_mapping) for user, one in entry.permissions.items()]
    return [*wanted, *((user, None, None) for user in entry.revoked)]


def _of_each(rows_of_each: Sequence[Sequence[tuple[object, ...]]], *, width: int) -> Columns:
    """What belongs to mailboxes, in columns, with the number of each one's mailbox before them."""
    rows = [(item, *row) for item, rows in enumerate(rows_of_each, 1) for row in rows]
    return tuple([row[column] for row in rows] for column in range(width + 1))


def _written(value: object) -> str:
    return _json.encode(value).decode()
