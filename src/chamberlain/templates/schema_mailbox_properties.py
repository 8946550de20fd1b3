"""The properties of mailboxes that have bounds of their own, for bodies and for the defaults of templates alike."""

from typing import Annotated

from msgspec import Meta

from chamberlain.core.constraints_shape import Shape
from chamberlain.core.validation_fields import Id, Line, line, lines, shaped, weighed_lines
from chamberlain.directory.mailboxes import PermissionLevel

# One id in two spellings would be one user with two levels; the keys are compared before they become ids.
Permissions = Annotated[
    dict[Id, PermissionLevel],
    Meta(max_length=500, extra={"ids": "users"}, description="Levels by the object ids of users."),
]
Capacity = Annotated[
    int, Meta(ge=0, le=2_147_483_647, description="MB of storage; of a room the people it holds; of equipment units.")
]
State = Annotated[str, line(64)]
BusinessPhones = Annotated[tuple[Line, ...], Meta(max_length=10)]
AutomaticReply = Annotated[str, weighed_lines(8)]
Tags = Annotated[tuple[Annotated[str, line(64)], ...], Meta(max_length=32)]
Notes = Annotated[str, lines(4096)]
Reason = Annotated[str, line(1024)]

# RFC 5321, 4.1.2: dot-atom, without the forms in quotation marks.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
Alias = Annotated[
    str,
    shaped(rf"{_ATOM}(?:\.{_ATOM})*", "must be what stands before the @ of an address, such as info", 64),
]


class RoomMailboxMetadataShape(Shape, frozen=True, kw_only=True, omit_defaults=True):
    """What stands in a room."""

    has_conference_phone: bool | None = None
    has_whiteboard: bool | None = None
    has_video_conferencing: bool | None = None
