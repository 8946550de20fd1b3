"""Templates of kind guest: what guests may do. So far they are checked and kept; nothing is assigned from them yet."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta

from chamberlain.shapes.fields import Description, Domain, Name
from chamberlain.shapes.shape import Shape

_Domains = Annotated[tuple[Domain, ...], Meta(max_length=1000)]


class GuestsShape(Shape, frozen=True, kw_only=True):
    """Whether guests may be added, by whom, and from where; no allowed domains means all but the blocked ones."""

    allowed: bool
    added_by: Literal["members", "owners", "administrators"] = "owners"
    allowed_domains: _Domains = ()
    blocked_domains: _Domains = ()


class GuestTemplateShape(Shape, frozen=True, kw_only=True):
    """A template of kind guest, without what the service adds."""

    id: UUID
    kind: Literal["guest"]
    name: Name
    description: Description = ""
    active: bool = True
    guests: GuestsShape
    present_guests: Literal["keep", "remove"] = "keep"
    sharing_capability: Literal["disabled", "existingGuests", "newAndExistingGuests", "anyone"]
