# SPDX-License-Identifier: Apache-2.0
"""The catalog: the offered templates, and the latest requests of the user."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from chamberlain.console.visit import Visit
from chamberlain.console.words import N_
from chamberlain.core.errors import Forbidden
from chamberlain.core.paging import PageWanted
from chamberlain.requests.models import RequestFilter
from chamberlain.requests.rules import RequestView
from chamberlain.requests.service import RequestService
from chamberlain.template_admin.models import TemplateRecord
from chamberlain.template_admin.service import TemplateService
from chamberlain.template_admin.wire import (
    OfferedGroupTemplate,
    OfferedMailboxTemplate,
    encode_offered_group_template,
    encode_offered_mailbox_template,
)
from chamberlain.templates.models import MAILBOX_KINDS

# So many cards fit on a page without a search.
SEARCH_ABOVE: Final = 24
LATEST: Final = 4
_LONGEST_SEARCH: Final = 256
# Kinds in their order, with the headings of many cards, and the texts of cards without a description.
_KINDS: Final = {
    "room": (N_("Rooms"), N_("A room that people can book")),
    "equipment": (N_("Bookable equipment"), N_("Equipment that people can book")),
    "shared": (N_("Shared mailboxes"), N_("A mailbox that several people use")),
    "group": (N_("Groups"), N_("People with a common address")),
    "team": (N_("Teams"), N_("People who work together in channels")),
}
_ORDER: Final = tuple(_KINDS)
# Few cards need two headings only.
_FEW: Final = (
    (N_("Rooms and mailboxes"), frozenset(MAILBOX_KINDS)),
    (N_("Groups and teams"), frozenset({"group", "team"})),
)

Template = OfferedMailboxTemplate | OfferedGroupTemplate


@dataclass(frozen=True, slots=True)
class Card:
    """A template in the catalog.

    `is_plain` means that its description is a message of ours.
    """

    template: Template
    path: str
    description: str
    is_plain: bool

    def matches(self, words: Sequence[str]) -> bool:
        """Return whether name and description have all words."""
        text = f"{self.template.name} {self.description}".casefold()
        return all(word in text for word in words)


async def show_catalog(visit: Visit) -> Response:
    """Show the templates by kind, as far as they match the search."""
    offered = await visit.service(TemplateService).offer_all(visit.caller)
    query = visit.request.query_params.get("q", "").strip()[:_LONGEST_SEARCH]
    cards = [_card(each) for each in offered]
    cards.sort(key=lambda each: (_ORDER.index(each.template.kind), each.template.name.casefold(), each.path))
    has_search = len(cards) > SEARCH_ABOVE
    shown = [each for each in cards if each.matches(query.casefold().split())] if has_search else cards
    return visit.render(
        "catalog.html",
        sections=_sections(shown, by_kind=has_search),
        number=len(shown),
        has_search=has_search,
        query=query if has_search else "",
        latest=await _latest(visit),
    )


async def _latest(visit: Visit) -> Sequence[RequestView]:
    try:
        found = await visit.service(RequestService).list(
            visit.caller, RequestFilter(mine=True), PageWanted(LATEST, None)
        )
    except Forbidden:
        return ()
    return found.items


def _card(record: TemplateRecord) -> Card:
    is_mailbox = record.stored.head.kind in MAILBOX_KINDS
    template = encode_offered_mailbox_template(record) if is_mailbox else encode_offered_group_template(record)
    path = f"/console/new/{'mail' if is_mailbox else 'collab'}/{template.id}"
    own = template.description.strip()
    return Card(template, path, own or _KINDS[template.kind][1], not own)


def _sections(cards: Sequence[Card], *, by_kind: bool) -> Sequence[tuple[str, Sequence[Card]]]:
    headings = [(heading, frozenset({kind})) for kind, (heading, _) in _KINDS.items()] if by_kind else _FEW
    found = [(heading, [each for each in cards if each.template.kind in kinds]) for heading, kinds in headings]
    return [(heading, within) for heading, within in found if within]
