# SPDX-License-Identifier: Apache-2.0
"""Options and arguments that several commands share."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from chamberlain.cli.errors import ExitCode, Misused, ended, reported_misuse
from chamberlain.cli.formats import Format, Output
from chamberlain.cli.option_names import GivenOptions, option_names, with_options
from chamberlain.cli.output import lines

if TYPE_CHECKING:
    from chamberlain.settings import Settings


def _visible(value: str | None) -> str | None:
    # The characters that an HTTP header can carry.
    if value is not None and not re.fullmatch(r"[!-~]{1,255}", value):
        raise typer.BadParameter("It is 1 to 255 visible ASCII characters.")
    return value


Limit = Annotated[int, typer.Option(min=1, help="Maximum number of items.")]
All = Annotated[bool, typer.Option("--all", help="All items, without a limit.")]
Body = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="JSON file of the body, or `-` for standard input. Options override it."),
]
Document = Annotated[
    str, typer.Option("--body", metavar="FILE", help="JSON file of the body, or `-` for standard input.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the result without writing.")]
Key = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        callback=_visible,
        help="Idempotency key: a repeated command with the same key runs once.",
    ),
]
# Timeout in seconds. Enough for some thousands of rows.
IMPORT_PATIENCE = 600.0
CsvFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="CSV file in UTF-8. The first row has the names of the properties.")
]
RowTemplate = Annotated[
    str | None, typer.Option("--template", metavar="NAME", help="Template for rows without one, by name or id.")
]
Report = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the result of each row to this file: .csv or .ndjson.")
]
JournalFile = Annotated[
    Path | None, typer.Option("--journal", metavar="FILE", help="Checkpoint file. Default: beside the CSV file.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until the request finishes, and show its progress.")]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", min=0, help="With --wait: timeout.")]
IfMatch = Annotated[
    str | None,
    typer.Option(metavar="ETAG", callback=_visible, help="Change it only if its ETag is still this one."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Comment = Annotated[str | None, typer.Option(help="Comment for all users who may read the request.")]
Metadata = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Metadata value; repeatable.")]

MetadataFilter = Annotated[
    str | None,
    typer.Option("--metadata", metavar="KEY[=VALUE]", help="Only groups with this key, or value, in their metadata."),
]


# Of groups and teams.
GroupName = Annotated[str | None, typer.Option("--display-name", help="Display name. The template may change it.")]
GroupTemplate = Annotated[str | None, typer.Option("--template", help="Template, by name or id.")]
Description = Annotated[str | None, typer.Option(help="Description.")]
MemberShip = Annotated[
    Literal["private", "public", "dynamic"] | None,
    typer.Option(
        "--membership",
        metavar="MEMBERSHIP",
        case_sensitive=False,
        help="private, public or dynamic. Default: as in the template.",
    ),
]
People = Annotated[list[str] | None, typer.Option(metavar="USER", help="User, by id or mail address; repeatable.")]
Label = Annotated[str | None, typer.Option(metavar="ID", help="Sensitivity label.")]

# Of guest rules.
Assigned = Annotated[bool | None, typer.Option(help="Only with guest rules, or only without.")]
GuestTemplate = Annotated[str | None, typer.Option("--template", help="Guest template, by name or id.")]
GuestPolicy = Annotated[str | None, typer.Option("--policy", help="Guest policy, by name or id.")]
NoTemplate = Annotated[bool, typer.Option("--no-template", help="Clear the guest template.")]
NoPolicy = Annotated[bool, typer.Option("--no-policy", help="Clear the guest policy.")]
Query = Annotated[str | None, typer.Option("--query", "-q", help="Prefix of the name or of an address.")]

# Default timeout in seconds. Enough for requests without approval while the directory is healthy.
PATIENCE = 120.0


def most(limit: int, *, everything: bool) -> int | None:
    """Return the maximum number of items, or None for all."""
    return None if everything else limit


def takes_options(declared: Callable[..., object]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add an option for each field of a dataclass.

    The command gets the dataclass as `options`.
    """
    added = list(inspect.signature(declared).parameters.values())

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*arguments: object, **given: object) -> None:
            options = declared(**{each.name: given.pop(each.name) for each in added})
            command(*arguments, options=options, **given)

        signature = inspect.signature(command)
        own = [each for each in signature.parameters.values() if each.name != "options"]
        # Typer builds the command from the signature.
        run.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]  # As wraps() does.
        return run

    return decorate


DataDir = Annotated[Path | None, typer.Option(help="Directory for the embedded database, keys and secrets.")]


def settings_of(**options: object) -> "Settings":
    """Read the settings. An invalid value ends the command.

    The command line overrides the environment.
    """
    from chamberlain.settings import SettingsInvalid, read_settings

    given = {name: value for name, value in options.items() if value is not None}
    try:
        return read_settings(**given)
    except SettingsInvalid as error:
        raise ended(ExitCode.SETTINGS, with_options(str(error), given)) from None


_CONNECTION: dict[str, object] = {
    "server": Annotated[str | None, typer.Option(metavar="URL", help="Address of the service.")],
    "context": Annotated[str | None, typer.Option(metavar="NAME", help="Saved context, from `context list`.")],
    "port": Annotated[int | None, typer.Option(help="Port of the service on this machine.")],
    "data_dir": Annotated[Path | None, typer.Option(help="Data folder of the service on this machine.")],
    "ca": Annotated[Path | None, typer.Option(metavar="FILE", help="Additional CA certificates to trust.")],
    "verbose": Annotated[bool, typer.Option("--verbose", help="Show the HTTP calls on standard error.")],
}
_OUTPUT: dict[str, object] = {
    "output": Annotated[
        Format | None,
        typer.Option("--output", "-o", metavar="FORMAT", help="table (the default), json, yaml, csv or name."),
    ],
    "fields": Annotated[str | None, typer.Option(metavar="NAMES", help="Only these fields, such as id,displayName.")],
    "jq": Annotated[
        str | None, typer.Option("--jq", metavar="EXPR", help="Filter the JSON output by a jq expression.")
    ],
    "as_json": Annotated[bool, typer.Option("--json", help="Print JSON, one document per line.")],
}
# Defaults of these options that are not None.
_DEFAULTS: dict[str, object] = {"as_json": False, "verbose": False}


def calls(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function that calls the service.

    Its first parameter is the connection to the service. The command has the options of all such commands beside those
    of the function, and its exit codes.
    """

    names = option_names(inspect.signature(command).parameters.values())

    @wraps(command)
    def run(
        *,
        server: str | None,
        context: str | None,
        port: int | None,
        data_dir: Path | None,
        ca: Path | None,
        verbose: bool,
        output: Format | None,
        fields: str | None,
        jq: str | None,
        as_json: bool,
        **options: object,
    ) -> None:
        from chamberlain.cli.calls import Call, told_refusals

        with told_refusals(GivenOptions(names, options)):
            _require_text(server, context, fields, jq, *options.values())
            call = Call.from_options(
                server=server,
                context=context,
                port=port,
                data_dir=data_dir,
                ca=ca,
                verbose=verbose,
                output=Output.from_options(output, as_json=as_json, jq=jq, fields=fields),
            )
            command(call, **options)

    return _declared(run, command, _CONNECTION | _OUTPUT)


def prints(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function that prints objects without a service.

    Its first parameter is the output.
    """

    @wraps(command)
    def run(*, output: Format | None, fields: str | None, jq: str | None, as_json: bool, **options: object) -> None:
        with reported_misuse():
            _require_text(fields, jq, *options.values())
            command(Output.from_options(output, as_json=as_json, jq=jq, fields=fields), **options)

    return _declared(run, command, _OUTPUT)


def _declared(
    run: Callable[..., None], command: Callable[..., None], common: Mapping[str, object]
) -> Callable[..., None]:
    """Declare common options in place of the first parameter."""
    signature = inspect.signature(command)
    own = list(signature.parameters.values())[1:]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS.get(name), annotation=annotation)
        for name, annotation in common.items()
    ]
    # Typer reads both.
    run.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]  # As wraps() does.
    run.__annotations__ = {each.name: each.annotation for each in (*own, *more)} | {"return": None}
    return run


def _require_text(*given: object) -> None:
    """Raise Misused for arguments that are no valid UTF-8.

    The shell passes them as lone surrogates.
    """
    for each in given:
        if isinstance(each, list):
            _require_text(*each)
        elif isinstance(each, str) and not each.isascii() and any("\ud800" <= one <= "\udfff" for one in each):
            raise Misused(f"{each!a} is not text in UTF-8.")


def agreed(question: str, *, yes: bool) -> None:
    """Ask for confirmation, unless `yes` is set. A refusal ends the command."""
    if yes:
        return
    try:
        answer = typer.confirm(lines(question), err=True)
    except typer.Abort:
        answer = False
    if not answer:
        raise ended(ExitCode.FAILED, "Nothing was changed. Use --yes to skip this question.")


# Names of the options that every command with `calls` has.
COMMON_NAMES = frozenset(_CONNECTION | _OUTPUT)
