# Made by `python3 dev.py twin` from asynchronous/collab_templates.py, which is the one to be changed.
"""Templates of groups, teams and guests are administered; those of groups and teams are offered to those who ask."""

from collections.abc import Mapping

from chamberlain_client import operations
from chamberlain_client.answers import Answer, items_of, versioned
from chamberlain_client.calls import Id, changing, posting, reading
from chamberlain_client.kinds import collab_template_of
from chamberlain_client.models.collab_templates import CollabTemplate, NewCollabTemplate, OfferedGroupTemplate
from chamberlain_client.synchronous.pages import Pages
from chamberlain_client.synchronous.transport import Transport

Written = NewCollabTemplate | CollabTemplate | Mapping[str, object]


class CollabTemplates:
    """How groups and teams are made, and how guests are treated."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def offered(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[OfferedGroupTemplate]:
        """Those that the caller may use, with what a form needs, newest first. `limit` is how many a page has."""
        query = {"limit": limit, "cursor": cursor}
        decode = items_of(OfferedGroupTemplate)
        return Pages(self._transport, operations.LIST_OFFERED_GROUP_TEMPLATES, decode, query=query)

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[CollabTemplate]:
        """All of them, active or not, newest first. `limit` is how many a page has."""
        query = {"limit": limit, "cursor": cursor}
        return Pages(self._transport, operations.LIST_COLLAB_TEMPLATES, collab_template_of, query=query)

    def create(self, template: Written, *, idempotency_key: str | None = None) -> CollabTemplate:
        """Make one. A secret that was made for its webhook is shown here and never again. Raises NotPossible."""
        call = posting(operations.CREATE_COLLAB_TEMPLATE, body=template, key=idempotency_key)
        return _read(self._transport.send(call))

    def get(self, template_id: Id) -> CollabTemplate:
        """One of them, with its `etag`. Raises NotFound."""
        return _read(self._transport.send(reading(operations.READ_COLLAB_TEMPLATE, template_id)))

    def replace(self, template_id: Id, template: Written, *, if_match: str | None = None) -> CollabTemplate:
        """Let one be as is said, as a whole: what was read may be changed and given back. Raises NotFound, NotPossible,
        and Stale when it is not the version of `if_match` any more."""
        call = changing(operations.REPLACE_COLLAB_TEMPLATE, template_id, body=template, if_match=if_match)
        return _read(self._transport.send(call))

    def delete(self, template_id: Id, *, if_match: str | None = None) -> None:
        """Remove one; what was made with it stays. Raises NotFound, Stale, and Conflict when it is in use."""
        self._transport.send(changing(operations.DELETE_COLLAB_TEMPLATE, template_id, if_match=if_match))


def _read(answer: Answer) -> CollabTemplate:
    return versioned(collab_template_of(answer.content), answer)
