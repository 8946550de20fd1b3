"""Options and arguments that several commands have."""

import inspect
import re
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from chamberlain.settings import Settings


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


def takes_options(declared: Callable[..., object]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each field of a dataclass; the function gets the dataclass as `options`."""
    added = list(inspect.signature(declared).parameters.values())

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*arguments: object, **given: object) -> None:
            options = declared(**{each.name: given.pop(each.name) for each in added})
            command(*arguments, options=options, **given)

        signature = inspect.signature(command)
        own = [each for each in signature.parameters.values() if each.name != "options"]
        # What is read of a function to make a command of it.
        run.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]  # As wraps() does.
        return run

    return decorate


DataDir = Annotated[Path | None, typer.Option(help="Folder for the embedded database, keys and secrets.")]


def settings_of(**options: object) -> "Settings":
    """The settings, with what the command line says before what the environment says; a bad one ends the command."""

    from chamberlain.cli.errors import ExitCode
    from chamberlain.settings import SettingsInvalid, read_settings

    try:
        return read_settings(**{name: value for name, value in options.items() if value is not None})
    except SettingsInvalid as error:
        print(error, file=sys.stderr)
        raise typer.Exit(ExitCode.SETTINGS) from None


_COMMON: dict[str, object] = {
    "server": Annotated[str | None, typer.Option(metavar="URL", help="Address of the service.")],
    "port": Annotated[int | None, typer.Option(help="Port of the service, when it runs on this machine.")],
    "data_dir": Annotated[Path | None, typer.Option(help="Data folder of the service, when it runs on this machine.")],
    "ca": Annotated[Path | None, typer.Option(metavar="FILE", help="Certificates to trust beside the system's.")],
    "as_json": Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else on standard output.")],
}


_DEFAULTS: dict[str, object] = dict.fromkeys(_COMMON, None) | {"as_json": False}


def calls(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function whose first parameter is what it calls the service with.

    The command has the options of all such commands beside those of the function, and its exit codes.
    """

    @wraps(command)
    def run(
        *,
        server: str | None,
        port: int | None,
        data_dir: Path | None,
        ca: Path | None,
        as_json: bool,
        **options: object,
    ) -> None:

        from chamberlain.cli.calls import Call
        from chamberlain.cli.refusals import told_refusals

        with told_refusals():
            _require_text(server, *options.values())
            command(Call.from_options(server=server, port=port, data_dir=data_dir, ca=ca, as_json=as_json), **options)

    signature = inspect.signature(command)
    own = list(signature.parameters.values())[1:]
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS[name], annotation=annotation)
        for name, annotation in _COMMON.items()
    ]
    # What typer reads of a function.
    run.__signature__ = signature.replace(parameters=[*own, *common])  # type: ignore[attr-defined]  # As wraps() does.
    run.__annotations__ = {each.name: each.annotation for each in (*own, *common)} | {"return": None}
    return run


def _require_text(*given: object) -> None:
    """Nothing, when all that was typed can be sent. Bytes that are no text come from the shell as half characters."""

    from chamberlain.cli.errors import Misused

    for each in given:
        if isinstance(each, list):
            _require_text(*each)
        elif isinstance(each, str) and not each.isascii() and any("\ud800" <= one <= "\udfff" for one in each):
            raise Misused(f"{each!a} is not text in UTF-8.")
