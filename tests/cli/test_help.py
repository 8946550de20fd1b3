# SPDX-License-Identifier: Apache-2.0
"""The help of all commands, from the same table as the manual pages."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from chamberlain.app.cli import SECTIONS, app
from chamberlain.cli.examples import EXAMPLES
from tests.cli.shell import Ended
from tests.commands import run_here

ROOT = Path(__file__).parents[2]


def program() -> TyperGroup:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return group


def paths(group: TyperGroup, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of all commands, without those of groups."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from paths(command, *words, name)
        else:
            yield (*words, name)


def run(*arguments: str) -> Ended:
    done = run_here(*arguments, environment={"COLUMNS": "80"})
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("arguments", [("-h",), ("--help",), ("help",)])
def test_it_works(arguments: tuple[str, ...]) -> None:
    ended = run(*arguments)

    assert ended.code == 0
    assert re.findall(r"^(\S.*):$", ended.out, re.MULTILINE) == [*SECTIONS, "Options"]


def test_each_command_is_in_one_section() -> None:
    listed = [name for names in SECTIONS.values() for name in names]

    assert sorted(listed) == sorted(program().commands)


def test_a_call_without_a_command_shows_the_first_steps() -> None:
    ended = run()

    assert ended.code == 0
    assert "First steps:" in ended.out


@pytest.mark.parametrize("words", [("mailbox", "create"), ("request",), ("token",)])
def test_there_are_three_ways_to_the_help_of_a_command(words: tuple[str, ...]) -> None:
    shown = [run(*words, "-h"), run(*words, "--help"), run("help", *words)]

    assert shown[0].out.startswith(("Request", "List", "Print"))
    assert shown[0] == shown[1] == shown[2]


def test_every_command_has_a_page_and_examples() -> None:
    assert set(EXAMPLES) == {" ".join(words) for words in paths(program())}
    for page, *examples in EXAMPLES.values():
        assert (ROOT / page).is_file(), page
        assert examples, page


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_parse(name: str) -> None:
    for example in EXAMPLES[name][1:]:
        line = re.split(" [<>] ", example.replace("\\\n", " "))[0].removeprefix('eval "$(').removesuffix(')"')
        words = shlex.split(line)

        assert words[: 1 + len(name.split())] == ["chamberlain", *name.split()]
        parse(words[1:])


def parse(words: list[str]) -> None:
    """Parse a command line as the program does, and run nothing."""
    command, context = program(), None
    while isinstance(command, TyperGroup):
        context = command.context_class(command, info_name=command.name, parent=context)
        _, found, words = command.resolve_command(context, words)
        assert found is not None
        if not isinstance(found, TyperGroup):
            found.make_context(found.name, words, parent=context)
            return
        command = found


def test_all_help_fits_80_columns() -> None:
    for words in [(), *paths(program()), *((name,) for name in program().commands)]:
        for line in run("help", *words).out.splitlines():
            assert len(line) <= 80, line


def test_a_manual_page_is_written_for_each_command_and_group(tmp_path: Path) -> None:
    ended = run("man", "--dir", str(tmp_path / "man1"))

    assert ended.code == 0
    pages = {page.stem for page in (tmp_path / "man1").iterdir()}
    assert {"chamberlain", "chamberlain-mailbox", "chamberlain-mailbox-create"} < pages
    assert len(pages) == 1 + len(program().commands) + sum(len(words) > 1 for words in paths(program()))
    assert "\\-\\-whiteboard" in (tmp_path / "man1" / "chamberlain-mailbox-create.1").read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    ended = run("man", "--dir", str(tmp_path / "file"))

    assert (ended.code, ended.err) == (1, f"--dir {tmp_path}/file cannot be written (File exists).\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(("completion",), "SHELL is missing.\nSee: chamberlain completion --help\n", id="choice"),
        pytest.param(("mailbox", "list", "--type"), "--type needs a value.\n", id="value"),
    ],
)
def test_a_missing_value_is_reported_in_one_line(words: tuple[str, ...], sentence: str) -> None:
    ended = run(*words)

    assert (ended.code, ended.err) == (2, sentence)


def test_the_versions_are_printed() -> None:
    ended = run("--version")

    assert ended.code == 0
    assert re.fullmatch(r"chamberlain \S+\nchamberlain-client \S+\nPython 3\.\S+\n", ended.out)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    assert "_CHAMBERLAIN_COMPLETE=complete_" + shell in run("completion", shell).out


# Modules that take most of the start of a command. A group of commands needs the client for its declarations.
SLOW = {"msal", "pydantic", "rich", "starlette"}


@pytest.mark.parametrize(
    ("words", "slow"),
    [((), {*SLOW, "chamberlain_client", "httpx2"}), (("help",), {*SLOW, "chamberlain_client"})]
    + [((group, "list"), SLOW) for group in ("mailbox", "request", "template", "group", "event", "delivery")]
    + [
        ((group,), {*SLOW, "chamberlain.settings", "chamberlain_client", "cryptography", "httpx2"})
        for group in ("tenant", "audit", "jobs", "keys", "retention")
    ],
)
def test_help_imports_few_modules(words: tuple[str, ...], slow: set[str]) -> None:
    run_it = f"import sys, chamberlain.app.cli as c; c.app([*{words!r}, '-h'], standalone_mode=False)"

    done = subprocess.run(
        [sys.executable, "-c", f"{run_it}; print({slow!r} & set(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.splitlines()[-1] == "set()"
