# SPDX-License-Identifier: Apache-2.0
"""The page of commands and the command line say the same."""

import re
from collections.abc import Iterator

import typer
from typer.core import TyperArgument, TyperGroup

import dev
from chamberlain.app.cli import app
from chamberlain.cli.errors import ExitCode
from tests.docs.pages import REFERENCE, named, rows, section

PAGE = REFERENCE / "commands.md"


def options_of_commands() -> dict[str, set[str]]:
    """Every command with its options and arguments; commands of a group follow its name."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return dict(commands_of(group))


def commands_of(group: TyperGroup, *names: str) -> Iterator[tuple[str, set[str]]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands_of(command, *names, name)
        else:
            options = {text for option in command.params for text in (*option.opts, *option.secondary_opts)}
            arguments = {str(each.metavar): each.opts for each in command.params if isinstance(each, TyperArgument)}
            yield " ".join((*names, name)), {*arguments, *options}.difference(*arguments.values())


def test_it_works_for_every_command_and_no_other() -> None:
    documented = re.findall(r"^## chamberlain ([\w ]+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert documented == list(options_of_commands())


def test_it_names_every_option_and_no_other() -> None:
    common = [set(named(section(PAGE, f"## {title}"))) for title in ("Commands that call the service", "Output")]

    for name, options in options_of_commands().items():
        own = options.difference(*(each for each in common if each <= options))
        assert set(named(section(PAGE, f"## chamberlain {name}"))) == own, name


def test_it_names_every_exit_code() -> None:
    intro = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]

    assert [int(row[0]) for row in rows(intro)] == list(ExitCode)


def test_it_names_every_word_of_a_developer() -> None:
    assert named(section(PAGE, "## python3 dev.py")) == list(dev.WORDS)
