"""Templates of kind guest: what guests may do."""

from collections.abc import Iterator
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta

from chamberlain.core.constraints_doubles import doubled_words
from chamberlain.core.constraints_shape import Shape
from chamberlain.core.errors import Fault
from chamberlain.core.ids import TemplateId
from chamberlain.core.validation_fields import Description, Domain, Name
from chamberlain.directory.subjects_guests import AddedBy, GuestRules, PresentGuests, Sharing
from chamberlain.templates.models_guest_template import GuestTemplate

_Domains = Annotated[tuple[Domain, ...], Meta(max_length=1000)]


class GuestsShape(Shape, frozen=True, kw_only=True):
    """Whether guests may be added, by whom, and from where; no allowed domains means all but the blocked ones."""

    allowed: bool
    added_by: Literal["members", "owners", "administrators"] = "owners"
    allowed_domains: _Domains = ()
    blocked_domains: _Domains = ()


class GuestTemplateBody(Shape, frozen=True, kw_only=True):
    """A template of kind guest as it is sent."""

    kind: Literal["guest"]
    name: Name
    description: Description = ""
    active: bool = True
    guests: GuestsShape
    present_guests: Literal["keep", "remove"] = "keep"
    sharing_capability: Literal["disabled", "existingGuests", "newAndExistingGuests", "anyone"]


class GuestTemplateShape(GuestTemplateBody, frozen=True, kw_only=True):
    """A template of kind guest as it is kept, without what the service adds beside its id."""

    id: UUID


def identified_guest_template(body: GuestTemplateBody, template_id: TemplateId) -> GuestTemplateShape:
    """The template that a body describes."""
    members = {name: getattr(body, name) for name in body.__struct_fields__}
    return GuestTemplateShape(**members, id=template_id)


def guest_template_faults(shape: GuestTemplateShape, pointer: str = "") -> Iterator[Fault]:
    """Why a well-formed template cannot be used."""
    yield from doubled_words(shape.guests.allowed_domains, f"{pointer}/guests/allowedDomains")
    yield from doubled_words(shape.guests.blocked_domains, f"{pointer}/guests/blockedDomains")


def to_guest_template(shape: GuestTemplateShape) -> GuestTemplate:
    """What the template says."""
    guests = shape.guests
    rules = GuestRules(
        allowed=guests.allowed,
        added_by=AddedBy(guests.added_by),
        allowed_domains=guests.allowed_domains,
        blocked_domains=guests.blocked_domains,
        sharing=Sharing(shape.sharing_capability),
    )
    return GuestTemplate(shape.name, rules, PresentGuests(shape.present_guests))
