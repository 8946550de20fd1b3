"""Drafts as the parameters of the function that writes them, and its rows as verdicts."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from chamberlain.changes.record import audit_payload
from chamberlain.changes.record_event_log import event_data
from chamberlain.core.ids import RequestId
from chamberlain.database.transactions import Record
from chamberlain.database.types import BETWEEN, apart, joined
from chamberlain.requests.models_approvals import blocked_by
from chamberlain.requests.models_submissions import (
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

ACCEPT: Final = f"""
SELECT ordinal, outcome, request_id, approval_required, now() AS at
FROM chamberlain.accept_requests(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    origins => $21, request_ids => $22, digests => $23, event_ids => $24,
    display_names => {apart("$25")},
    mail_nicknames => {apart("$26")},
    addresses => {apart("$27")},
    second_nicknames => {apart("$28")},
    second_addresses => {apart("$29")},
    bodies => {apart("$30")},
    trace_ids => {apart("$31")},
    keys => {apart("$32")},
    audit_payloads => {apart("$33")},
    event_types => {apart("$34")},
    event_data => {apart("$35")},
    mailbox_items => $36, mailbox_ids => $37,
    mailbox_names => {apart("$38")},
    mailbox_name_keys => {apart("$39")},
    mailbox_aliases => {apart("$40")},
    mailbox_readers => {apart("$41")},
    mailbox_contents => {apart("$42")}{{held}}
)
"""  # noqa: S608 - text of ours alone.
# How the directory is asked for addresses by the write itself: those of drafts that want it, and which draft has each.
HELD: Final = r""",
    held => ARRAY(
        SELECT ($45::bigint[])[held.place] FROM unnest({function}($43, string_to_array($44, E'\x1f'))) AS held (place)
    )"""

_encode = msgspec.json.Encoder().encode


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
        *map(joined, zip(*texts, strict=True)),
        [place for place, _ in mailboxes],
        [mailbox.id for _, mailbox in mailboxes],
        *(map(joined, zip(*of_mailboxes, strict=True)) if of_mailboxes else NO_MAILBOX_TEXTS),
    ]


def _filled(column: Sequence[object]) -> Sequence[object]:
    """A column in which nothing stands is not sent at all: the function reads what is not there as null."""
    return column if any(column) else ()


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
        mailbox.content.decode(),
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
