# Made by `python3 dev.py twin` from asynchronous/mailbox_templates.py, which is the one to be changed.
"""Templates of mailboxes are administered, and offered to those who ask for a mailbox."""

from collections.abc import Mapping

from chamberlain_client import operations
from chamberlain_client.answers import Answer, decoded, items_of, versioned
from chamberlain_client.calls import Id, changing, posting, reading
from chamberlain_client.models.mailbox_templates import MailboxTemplate, NewMailboxTemplate, OfferedMailboxTemplate
from chamberlain_client.synchronous.pages import Pages
from chamberlain_client.synchronous.transport import Transport

Written = NewMailboxTemplate | MailboxTemplate | Mapping[str, object]


class MailboxTemplates:
    """How mailboxes are made."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def offered(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[OfferedMailboxTemplate]:
        """Those that the caller may use, with what a form needs, newest first. `limit` is how many a page has."""
        query = {"limit": limit, "cursor": cursor}
        decode = items_of(OfferedMailboxTemplate)
        return Pages(self._transport, operations.LIST_OFFERED_MAILBOX_TEMPLATES, decode, query=query)

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[MailboxTemplate]:
        """All of them, active or not, newest first. `limit` is how many a page has."""
        query = {"limit": limit, "cursor": cursor}
        return Pages(self._transport, operations.LIST_MAILBOX_TEMPLATES, items_of(MailboxTemplate), query=query)

    def create(self, template: Written, *, idempotency_key: str | None = None) -> MailboxTemplate:
        """Make one. A secret that was made for its webhook is shown here and never again. Raises NotPossible."""
        call = posting(operations.CREATE_MAILBOX_TEMPLATE, body=template, key=idempotency_key)
        return _read(self._transport.send(call))

    def get(self, template_id: Id) -> MailboxTemplate:
        """One of them, with its `etag`. Raises NotFound."""
        return _read(self._transport.send(reading(operations.READ_MAILBOX_TEMPLATE, template_id)))

    def replace(self, template_id: Id, template: Written, *, if_match: str | None = None) -> MailboxTemplate:
        """Let one be as is said, as a whole: what was read may be changed and given back. Raises NotFound, NotPossible,
        and Stale when it is not the version of `if_match` any more."""
        call = changing(operations.REPLACE_MAILBOX_TEMPLATE, template_id, body=template, if_match=if_match)
        return _read(self._transport.send(call))

    def delete(self, template_id: Id, *, if_match: str | None = None) -> None:
        """Remove one; what was made with it stays. Raises NotFound and Stale."""
        self._transport.send(changing(operations.DELETE_MAILBOX_TEMPLATE, template_id, if_match=if_match))


def _read(answer: Answer) -> MailboxTemplate:
    return versioned(decoded(answer, MailboxTemplate), answer)
