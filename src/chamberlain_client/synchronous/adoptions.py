# Made by `python3 dev.py twin` from asynchronous/adoptions.py, which is the one to be changed.
"""Existing mailboxes and groups are taken under management: shown, confirmed, followed and undone."""

from collections.abc import Mapping

from msgspec import UNSET, UnsetType, to_builtins

from chamberlain_client import operations
from chamberlain_client.answers import decoded, items_of
from chamberlain_client.calls import Id, id_of, posting, reading, said
from chamberlain_client.models.adoptions import AdoptedKind, Adoption, AdoptionFilter, AdoptionPreview
from chamberlain_client.synchronous.pages import Pages
from chamberlain_client.synchronous.transport import Transport


class Adoptions:
    """What was in the directory before the service was asked for it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def preview(
        self, kind: AdoptedKind | str, template_id: Id, *, chosen: AdoptionFilter | None = None
    ) -> AdoptionPreview:
        """Whom a rule would take, and what stands against the others. Nothing is changed. Raises NotPossible."""
        call = posting(operations.CREATE_ADOPTION, body=_rule(kind, template_id, chosen), key=None, dry_run=True)
        return decoded(self._transport.send(call), AdoptionPreview)

    def confirm(self, preview: AdoptionPreview, *, idempotency_key: str | None = None) -> Adoption:
        """Take those whom a preview showed. Raises Conflict when it would be others by now, and NotPossible."""
        body = {**_rule(preview.kind, preview.template.id, preview.filter), "digest": preview.digest}
        call = posting(operations.CREATE_ADOPTION, body=body, key=idempotency_key)
        return decoded(self._transport.send(call), Adoption)

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[Adoption]:
        """Adoptions, newest first. `limit` is how many a page has."""
        query = {"limit": limit, "cursor": cursor}
        return Pages(self._transport, operations.LIST_ADOPTIONS, items_of(Adoption), query=query)

    def get(self, adoption_id: Id) -> Adoption:
        """One adoption, with those that could not be taken. Raises NotFound."""
        return decoded(self._transport.send(reading(operations.READ_ADOPTION, adoption_id)), Adoption)

    def undo(
        self, adoption_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Adoption:
        """Take marks and records away again. Raises NotFound, and Conflict when it is undone already."""
        call = posting(operations.UNDO_ADOPTION, adoption_id, body=said(comment), key=idempotency_key)
        return decoded(self._transport.send(call), Adoption)


def _rule(kind: AdoptedKind | str, template_id: Id, chosen: AdoptionFilter | None) -> Mapping[str, object]:
    sent = {} if chosen is None else {name: each for name, each in to_builtins(chosen).items() if each is not None}
    return {"kind": str(kind), "templateId": str(id_of(template_id)), "filter": sent}
