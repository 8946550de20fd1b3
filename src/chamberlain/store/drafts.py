"""Drafts as the parameters of the function that writes them, and its rows as verdicts."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from chamberlain.rules.approvals import blocked_by
from chamberlain.rules.ids import RequestId
from chamberlain.rules.submissions import (
    AddressTaken,
    Again,
    Draft,
    LimitFull,
    MailboxDraft,
    NameTaken,
    Replayed,
    Reused,
    TemplateChanged,
    Verdict,
    Written,
)
from chamberlain.shapes.mailboxes import write_mailbox_order
from chamberlain.store.changes import audit_payload
from chamberlain.store.database import Record
from chamberlain.store.events import event_data

# A column of texts is sent as one text: the driver asks each element of an array whether it is an array itself, which
# takes as long as all else about a short text. Between two texts, and for one that is not there, stand control
# characters that no text of ours holds: JSON escapes them, and names are not allowed any.
ACCEPT: Final = r"""
SELECT ordinal, outcome, request_id, approval_required, now() AS at
FROM chamberlain.accept_requests(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    origins => $21, request_ids => $22, digests => $23, event_ids => $24,
    display_names => string_to_array($25, E'\x1f', E'\x1e'),
    mail_nicknames => string_to_array($26, E'\x1f', E'\x1e'),
    addresses => string_to_array($27, E'\x1f', E'\x1e'),
    second_nicknames => string_to_array($28, E'\x1f', E'\x1e'),
    second_addresses => string_to_array($29, E'\x1f', E'\x1e'),
    bodies => string_to_array($30, E'\x1f', E'\x1e'),
    trace_ids => string_to_array($31, E'\x1f', E'\x1e'),
    keys => string_to_array($32, E'\x1f', E'\x1e'),
    audit_payloads => string_to_array($33, E'\x1f', E'\x1e'),
    event_types => string_to_array($34, E'\x1f', E'\x1e'),
    event_data => string_to_array($35, E'\x1f', E'\x1e'),
    mailbox_items => $36, mailbox_ids => $37,
    mailbox_names => string_to_array($38, E'\x1f', E'\x1e'),
    mailbox_name_keys => string_to_array($39, E'\x1f', E'\x1e'),
    mailbox_aliases => string_to_array($40, E'\x1f', E'\x1e'),
    mailbox_readers => string_to_array($41, E'\x1f', E'\x1e'),
    mailbox_contents => string_to_array($42, E'\x1f', E'\x1e'){held}
)
"""
# How the directory is asked for addresses by the write itself: those of drafts that want it, and which draft has each.
HELD: Final = r""",
    held => ARRAY(
        SELECT ($45::bigint[])[held.place] FROM unnest({function}($43, string_to_array($44, E'\x1f'))) AS held (place)
    )"""
BETWEEN: Final = "\x1f"
NOTHING: Final = "\x1e"

_encode = msgspec.json.Encoder().encode


class NotJoinable(ValueError):
    """A text holds the character that stands between texts."""


def columns_of(drafts: Sequence[Draft]) -> list[Sequence[object]]:
    """The parameters of the function. What drafts have in common is sent once: half of the columns, and of the time
    that sending them takes."""
    origins: dict[tuple[object, ...], int] = {}
    rows = [_row(draft, origins.setdefault(_origin(draft), len(origins) + 1)) for draft in drafts]
    texts = [_texts(draft) for draft in drafts]
    mailboxes = [(place, draft.mailbox) for place, draft in enumerate(drafts, start=1) if draft.mailbox]
    of_mailboxes = [_mailbox_texts(mailbox) for _, mailbox in mailboxes]
    return [
        *zip(*origins, strict=True),
        *map(_filled, zip(*rows, strict=True)),
        *map(_joined, zip(*texts, strict=True)),
        [place for place, _ in mailboxes],
        [mailbox.id for _, mailbox in mailboxes],
        *(map(_joined, zip(*of_mailboxes, strict=True)) if of_mailboxes else NO_MAILBOX_TEXTS),
    ]


def _filled(column: Sequence[object]) -> Sequence[object]:
    """A column in which nothing stands is not sent at all: the function reads what is not there as null."""
    return column if any(column) else ()


def _joined(column: Sequence[str | None]) -> str:
    """The same for a column of texts, none of which is empty. Raises NotJoinable."""
    if not any(column):
        return ""
    together = BETWEEN.join([NOTHING if text is None else text for text in column])
    if together.count(BETWEEN) != len(column) - 1:
        raise NotJoinable
    return together


def asked_of(drafts: Sequence[Draft]) -> list[Sequence[object]]:
    """The addresses that the directory is to be asked for: the tenant of each, and whose it is."""
    asked = [
        (draft.change.tenant_id, address, place)
        for place, draft in enumerate(drafts, start=1)
        if draft.ask_addresses
        for address in _addresses(draft)
    ]
    tenants, addresses, places = zip(*asked, strict=True) if asked else ((), (), ())
    return [tenants, BETWEEN.join(addresses), places]


def _addresses(draft: Draft) -> Iterator[str]:
    yield draft.addresses[0].mail
    if draft.mailbox is not None and draft.mailbox.alias is not None:
        yield draft.mailbox.alias


def _origin(draft: Draft) -> tuple[object, ...]:
    change = draft.change
    return (
        change.tenant_id,
        draft.tenant_revision,
        draft.kind,
        draft.state,
        draft.template_id,
        draft.template_revision,
        draft.template_name,
        draft.approval_required,
        draft.people_checked,
        _encode(draft.steps).decode(),
        change.client_id,
        change.actor.type,
        change.actor.id,
        change.actor.display_name,
        draft.job,
        change.action,
        _encode(draft.approvals).decode() if draft.approvals else None,
        blocked_by(draft.approvals),
        _encode(draft.warnings).decode() if draft.warnings else None,
        draft.mailbox.template_source if draft.mailbox else None,
    )


def _row(draft: Draft, origin: int) -> tuple[object, ...]:
    key, event = draft.idempotency, draft.change.event
    return (origin, draft.request_id, key.digest if key else None, event.id if event else None)


def _texts(draft: Draft) -> tuple[str | None, ...]:
    change = draft.change
    event = change.event
    first = draft.addresses[0] if draft.addresses else None
    second = draft.addresses[1] if len(draft.addresses) > 1 and not draft.ask_addresses else None
    return (
        draft.display_name,
        first.mail_nickname if first else None,
        first.mail if first else None,
        second.mail_nickname if second else None,
        second.mail if second else None,
        draft.body.decode(),
        change.trace_id,
        draft.idempotency.key if draft.idempotency else None,
        audit_payload(change),
        event.type if event else None,
        event_data(event) if event else None,
    )


def _mailbox_texts(mailbox: MailboxDraft) -> tuple[str | None, ...]:
    return (
        mailbox.order.name,
        mailbox.name_key,
        mailbox.alias,
        f"{{{','.join(map(str, sorted(mailbox.readers)))}}}",
        write_mailbox_order(mailbox.order).decode(),
    )


# How those of no mailbox are sent.
NO_MAILBOX_TEXTS: Final = ("",) * 5


def verdicts_of(rows: Sequence[Record], number: int) -> list[Verdict]:
    """What came of each, in its order. A row tells of one that was not written; the one about none of them says when
    the others were."""
    at = next((row["at"] for row in rows if row["ordinal"] == 0), None)
    verdicts: list[Verdict] = [Written(at)] * number
    for row in rows:
        if row["ordinal"] > 0:
            verdicts[row["ordinal"] - 1] = _verdict(row)
    return verdicts


def _verdict(row: Record) -> Verdict:
    match row["outcome"]:
        case "replayed":
            return Replayed(RequestId(row["request_id"]), row["approval_required"])
        case "reused":
            return Reused()
        case "nameTaken":
            return NameTaken()
        case "addressTaken":
            return AddressTaken()
        case "templateChanged":
            return TemplateChanged()
        case "openRequests" | "requestsPerMinute" as limit:
            return LimitFull(limit)
        case "again":
            return Again()
        case other:
            raise RuntimeError(f"accept_requests knows an outcome that is not known here: {other}")
