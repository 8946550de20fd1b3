"""Options and arguments that several commands have."""

import re
from typing import Annotated

import typer


def _visible(value: str | None) -> str | None:
    # What a header of HTTP takes.
    if value is not None and not re.fullmatch(r"[!-~]{1,255}", value):
        raise typer.BadParameter("It is 1 to 255 visible ASCII characters.")
    return value


Limit = Annotated[int, typer.Option(min=1, help="How many at most.")]
All = Annotated[bool, typer.Option("--all", help="All there are, whatever --limit says.")]
Body = Annotated[
    str | None, typer.Option(metavar="FILE", help="The body as JSON, `-` for standard input; options come before it.")
]
Document = Annotated[
    str, typer.Option("--body", metavar="FILE", help="The whole of it as JSON; `-` is standard input.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
Key = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        callback=_visible,
        help="The same command with the same key is carried out once.",
    ),
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until it is done, and show how it comes along.")]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", min=0, help="How long to wait, with --wait.")]
IfMatch = Annotated[
    str | None,
    typer.Option(metavar="ETAG", callback=_visible, help="Only if it is still as it was when it had this ETag."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Comment = Annotated[str | None, typer.Option(help="A sentence for all who may read the request.")]
Metadata = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="A value of metadata; may be given repeatedly.")
]


# Of groups and teams.
GroupName = Annotated[str | None, typer.Option("--display-name", help="What people see; the template may add to it.")]
GroupTemplate = Annotated[str | None, typer.Option("--template", help="By name or id.")]
Description = Annotated[str | None, typer.Option(help="What it is for.")]
MemberShip = Annotated[
    str | None, typer.Option("--membership", help="private, public or dynamic. Without it what the template says.")
]
People = Annotated[
    list[str] | None, typer.Option(metavar="USER", help="By id or mail address; may be given repeatedly.")
]
Label = Annotated[str | None, typer.Option(metavar="ID", help="The sensitivity label.")]

# Of guest rules.
Assigned = Annotated[bool | None, typer.Option(help="Only those that have guest rules, or that have none.")]
GuestTemplate = Annotated[str | None, typer.Option("--template", help="A guest template, by name or id.")]
GuestPolicy = Annotated[str | None, typer.Option("--policy", help="A guest policy, by name or id.")]
NoTemplate = Annotated[bool, typer.Option("--no-template", help="Take the guest template away.")]
NoPolicy = Annotated[bool, typer.Option("--no-policy", help="Take the guest policy away.")]
Query = Annotated[str | None, typer.Option("--query", "-q", help="How the name or an address begins.")]

# Seconds that are enough for what needs no approval, unless the directory is in trouble.
PATIENCE = 120.0


def most(limit: int, *, everything: bool) -> int | None:
    """How many items are wanted; `None` is all."""
    return None if everything else limit
