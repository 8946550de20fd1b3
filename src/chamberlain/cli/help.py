# SPDX-License-Identifier: Apache-2.0
"""Help of all commands: layout, groups of commands, and usage errors.

Typer's own layout draws boxes that cut long options at 80 columns, and imports rich, which takes half of the start.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import typer
from typer._completion_classes import completion_init
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.exceptions import TyperException

from chamberlain import __version__
from chamberlain.cli.options import COMMON_NAMES
from chamberlain.cli.output import say

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter
    from typer._click.core import Parameter

COMMON_TITLE = "Connection and output"
# Names of types in the help, in place of those of Python.
_TYPES = {
    "<list[str]>": "TEXT",
    "<str>": "TEXT",
    "<int>": "NUMBER",
    "<float>": "NUMBER",
    "<int range>": "NUMBER",
    "<float range>": "NUMBER",
    "<path>": "PATH",
    "<datetime>": "TIME",
}


class CommandTable(typer.Typer):
    """Declares commands with this help."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - As the framework declares them.
        super().__init__(**{"cls": HelpfulGroup, "rich_markup_mode": None, "add_completion": False, **settings})

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:  # noqa: ANN401 - As above.
        """Declare a command."""
        return super().command(name, **{"cls": HelpfulCommand, **settings})


class HelpfulCommand(TyperCommand):
    """A command whose help has examples and a page."""

    def format_help(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the help."""
        _write_text(self, formatter)
        _write_usage(self, ctx, formatter)
        _write_examples(ctx, formatter)
        for title, rows in parameters(self, ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows)
        _write_page(ctx, formatter)


class HelpfulGroup(TyperGroup):
    """A group of commands. Without a command it prints its help."""

    # Commands by title. Empty: all under one title.
    sections: ClassVar[Mapping[str, Sequence[str]]] = {}
    # Help for a call without a command. Empty: the whole help.
    first_steps: ClassVar[str] = ""

    def get_help_option(self, ctx: "Context") -> "TyperOption | None":
        """Return the help option. Its default None would import pydantic."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Print the help if there is no command."""
        if not args and not ctx.resilient_parsing:
            print(self.first_steps or self.get_help(ctx))
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_help(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the help."""
        _write_text(self, formatter)
        _write_usage(self, ctx, formatter)
        for title, names in (self.sections or {"Commands": self.list_commands(ctx)}).items():
            with formatter.section(title):
                formatter.write_dl([(name, summary(self.commands[name])) for name in names])
        _write_examples(ctx, formatter)
        for title, rows in parameters(self, ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows)
        _write_page(ctx, formatter)


class ProgramGroup(HelpfulGroup):
    """The program, which prints usage errors in two lines."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **settings: Any) -> Any:  # type: ignore[override]  # noqa: ANN401 - As the framework calls it.
        """Run a command line, and end the process."""
        completion_init()
        standalone = settings.pop("standalone_mode", True)
        if not standalone:
            return super().main(args, prog_name, standalone_mode=False, **settings)
        try:
            code = super().main(args, prog_name, standalone_mode=False, **settings)
        except TyperException as error:
            _say_misuse(error)
            sys.exit(error.exit_code)
        except typer.Abort:
            say("Stopped.")
            sys.exit(1)
        sys.exit(code if isinstance(code, int) else 0)


def _say_misuse(error: Any) -> None:  # noqa: ANN401 - The framework has no public name of its classes.
    say(_fixed(error))
    if (context := getattr(error, "ctx", None)) is not None:
        say(f"See: {context.command_path} --help")


# Sentences of the framework, and ours.
_PHRASES = (
    (r"Invalid value for '([^']*)'(?: / '[^']*')*: (?:Value error, )?", r"\1: "),
    (r"(?s)^Missing (?:option|argument) '([^']*)'.*", r"\1 is missing."),
    (r"^Option '([^']*)' requires an argument\.", r"\1 needs a value."),
    (r"Input should be a valid (?:integer|number).*", "It has to be a number."),
    (r"Input should be greater than or equal to (\S+)", r"It has to be at least \1."),
    (r"Input should be a valid datetime.*", "It has to be a time, such as 2026-11-20T09:30:00."),
    (r"^No such option: (\S+)", r"There is no option \1."),
    (r"^No such command '(.*?)'\.?", r"There is no command '\1'."),
    (r" \(Possible options: (.*)\)", r" Did you mean \1?"),
)


def _fixed(error: Any) -> str:  # noqa: ANN401 - As above.
    sentence = str(error.format_message())
    for pattern, ours in _PHRASES:
        sentence = re.sub(pattern, ours, sentence)
    sentence = re.sub(
        r"(?<=Did you mean )'.*'(?=\?)", lambda found: " or ".join(found[0][1:-1].split("', '")), sentence
    )
    choice = re.fullmatch(r"(.*: '(.*)' is not one of ).*", sentence)
    if choice is None:
        return sentence
    # The framework writes the choices in lower case.
    known = {(text := str(getattr(each, "value", each))).lower(): text for each in error.param.type_descriptor.choices}
    near = get_close_matches(choice[2].lower(), known, 1)
    suggestion = f" Did you mean {known[near[0]]}?" if near else ""
    return choice[1] + ", ".join(f"'{each}'" for each in known.values()) + f".{suggestion}"


def show_versions(*, wanted: bool) -> None:
    """Print the versions of service, SDK and Python, and exit."""
    if wanted:
        import platform

        from chamberlain_client.version import __version__ as client_version

        print(f"chamberlain {__version__}")
        print(f"chamberlain-client {client_version}")
        print(f"Python {platform.python_version()}")
        raise typer.Exit


def summary(command: "Command") -> str:
    """Return the first paragraph of the help of a command."""
    return " ".join(inspect.cleandoc(command.help or "").partition("\n\n")[0].split())


def parameters(command: "Command", ctx: "Context") -> dict[str, list[tuple[str, str]]]:
    """Return arguments and options by section, each with its help."""
    found: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            named = _named(record[0]) if isinstance(parameter, TyperOption) else str(parameter.metavar)
            found.setdefault(_section(parameter), []).append((named, _sentences(record[1])))
    order = ("Arguments", "Options", COMMON_TITLE)
    return {title: found[title] for title in order if title in found}


def _section(parameter: "Parameter") -> str:
    if not isinstance(parameter, TyperOption):
        return "Arguments"
    return COMMON_TITLE if parameter.name in COMMON_NAMES else "Options"


def _named(names: str) -> str:
    for written, shown in _TYPES.items():
        names = names.replace(written, shown)
    return names


def _sentences(text: str) -> str:
    """Write the default as a sentence, and leave out the range."""
    text, _, more = text.partition("  [")
    facts = [each for each in more.removesuffix("]").split("; ") if each.startswith("default: ")]
    return " ".join([text, *(f"{each.capitalize().removesuffix('.0')}." for each in facts)])


def usage_of(command: "Command", ctx: "Context") -> str:
    """Return what follows the name of a command."""
    # The framework puts names of arguments in braces.
    return re.sub(r"\{(\w+)\}", r"\1", " ".join(command.collect_usage_pieces(ctx)))


def path_of(ctx: "Context") -> str:
    """Return the words of a command without the name of the program."""
    return ctx.command_path.partition(" ")[2]


def examples_of(path: str) -> Iterator[str]:
    """Return the examples of a command.

    A group has the first one of its first commands.
    """
    from chamberlain.cli.examples import EXAMPLES

    if path in EXAMPLES:
        yield from EXAMPLES[path][1:]
    elif path:
        yield from islice((lines[1] for name, lines in EXAMPLES.items() if name.startswith(f"{path} ")), 3)


def page_of(path: str) -> str:
    """Return the page of a command or group."""
    from chamberlain.cli.examples import EXAMPLES

    found = (lines[0] for name, lines in EXAMPLES.items() if name == path or name.startswith(f"{path} "))
    return next(found, "docs/how-to/command-line.md") if path else "docs/how-to/command-line.md"


def _write_text(command: "Command", formatter: "HelpFormatter") -> None:
    formatter.write_text(inspect.cleandoc(command.help or ""))


def _write_usage(command: "Command", ctx: "Context", formatter: "HelpFormatter") -> None:
    formatter.write_paragraph()
    formatter.write_usage(ctx.command_path, usage_of(command, ctx))


def _write_examples(ctx: "Context", formatter: "HelpFormatter") -> None:
    lines = list(examples_of(path_of(ctx)))
    if lines:
        with formatter.section("Examples"):
            for line in lines:
                formatter.write(f"  {line}\n")


def _write_page(ctx: "Context", formatter: "HelpFormatter") -> None:
    formatter.write_paragraph()
    formatter.write(f"Documentation: {page_of(path_of(ctx))}\n")
