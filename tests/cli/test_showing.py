# SPDX-License-Identifier: Apache-2.0
import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chamberlain.cli.formats import Output
from chamberlain.cli.output import escaped, lines, show_json, value_at, written
from chamberlain.core.text import one_line
from tests.cli.shell import Shell

# Red, a new title of the window, a link, a bell, a byte that some terminals take for ESC [, and rich's markup.
HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07\x9b2Jclear\u202egnp [bold]big[/bold] [link=https://evil.example]here[/link] :smile:"
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Zürich 🏔", "Zürich 🏔"),
        ("a\tb\r\nc", "a b c"),
        (HOSTILE, "[31mred]0;title2Jcleargnp [bold]big[/bold] [link=https://evil.example]here[/link] :smile:"),
        ("one\u2028two", "one two"),
        ("", ""),
    ],
)
def test_it_works_to_make_text_harmless(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_it_keeps_the_lines_of_sentences() -> None:
    assert lines("one\n\x1btwo") == "one\ntwo"


def test_json_stays_what_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"displayName": HOSTILE, "name": "Zürich"}

    show_json(document)

    out = capsys.readouterr().out
    assert json.loads(out) == document
    assert "Zürich" in out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out)


def test_an_escape_is_json() -> None:
    assert json.loads(escaped('"\x9b"')) == "\x9b"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (True, "yes"),
        (0, "0"),
        (1.5, "1.5"),
        (["a", "b"], "a, b"),
        ({"a": 1}, '{"a": 1}'),
        ([{"a": "\x1b"}], '[{"a": "\\u001b"}]'),
    ],
)
def test_values_are_written_in_a_line(value: object, shown: str) -> None:
    assert written(value) == shown


def test_a_record_shows_what_has_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    Output().show(
        {"id": "1", "none": None, "empty": [], "inner": {"name": "x\ny"}, "steps": [{"name": "a"}, {"name": "b"}]}
    )

    assert capsys.readouterr().out.splitlines() == [
        "id            1",
        "inner.name    x y",
        "steps.1.name  a",
        "steps.2.name  b",
    ]


def test_a_record_shows_the_sentence_of_a_reason_and_not_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    reason = {"reason": "It is late.", "reasonCode": "late", "reasonValues": {"by": 3}}
    Output().show({"waiting": reason, "warnings": ["Odd."], "warningReasons": [{"code": "odd", "detail": "Odd."}]})

    assert capsys.readouterr().out.splitlines() == ["waiting.reason  It is late.", "warnings        Odd."]


def test_a_path_that_leads_nowhere_is_nothing() -> None:
    assert value_at({"a": {"b": 1}}, "a.b") == 1
    assert value_at({"a": None}, "a.b") is None


@pytest.fixture(scope="module")
def hostile_group(ada: Shell) -> str:
    """A group whose name a terminal and rich could take for something else. The API takes no control characters."""
    name = "[bold]big[/bold] [link=https://evil.example]x[/link] :smile: Zürich"
    ada.done("group", "create", "--template", "Project group", "--display-name", name, "--wait")
    return name


def test_markup_in_names_is_text(ada: Shell, hostile_group: str) -> None:
    assert hostile_group in ada.done("request", "list").out
    assert hostile_group in ada.done("request", "list", "--json").out


def test_markup_is_text_on_a_terminal_too(ada: Shell, hostile_group: str) -> None:
    code, shown = on_terminal(ada, ("request", "list", "--kind", "group"), width=200)

    assert code == 0
    assert shown.split()[:4] == ["ID", "KIND", "STATE", "NAME"]
    assert hostile_group in shown


def test_the_checks_of_doctor_fit_the_terminal(ada: Shell) -> None:
    _, shown = on_terminal(ada, ("doctor",), width=80)

    assert "CHAMBERLAIN_SMTP_URL" in shown
    # A word that is longer, such as an address, stays whole.
    assert [line for line in shown.splitlines() if len(line) > 80 and " " in line[29:]] == []


@pytest.mark.usefixtures("hostile_group")
def test_a_short_id_is_never_cut_on_a_narrow_terminal(ada: Shell) -> None:
    ids = ada.done("request", "list", "--kind", "group", "--output", "name").out.splitlines()

    _, shown = on_terminal(ada, ("request", "list", "--kind", "group"), width=60)

    assert {each[-8:] for each in ids} <= set(shown.split())
    assert all(len(line) <= 60 for line in shown.splitlines())


@pytest.mark.usefixtures("hostile_group")
def test_there_is_no_colour_where_none_is_wanted(ada: Shell) -> None:
    wanted = Shell(ada.service, ada.config, {"NO_COLOR": "1"})
    process, raw = raw_terminal(wanted, ("request", "list"), width=200)

    assert process == 0
    assert "\x1b[" not in raw


def test_progress_changes_in_place_on_a_terminal(ada: Shell) -> None:
    create = ("group", "create", "--template", "Project group", "--display-name", "[red]Live[/red]", "--wait")

    code, shown = on_terminal(ada, create, width=120)

    assert code == 0
    assert "[red]Live[/red]: succeeded" in shown
    assert "Create the group: succeeded" in shown


@pytest.mark.usefixtures("hostile_group")
def test_whoever_stops_reading_is_not_told_of_it(ada: Shell) -> None:
    with ada.started("request", "list", "--all", "--json") as listing:
        assert listing.process.stdout is not None
        listing.process.stdout.close()
        listing.process.stdout = None
        ended = listing.end()

    assert ended.code == 1
    assert ended.err == ""


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("chamberlain mail", "mailbox"),
        ("chamberlain request ", "watch"),
        ("chamberlain group create --temp", "--template"),
        ("chamberlain mailbox create --hide", "--hide-from-gal"),
    ],
)
def test_bash_completes(words: str, offered: str) -> None:
    split = words.split(" ")
    asked = {"_CHAMBERLAIN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(split) - 1)}

    done = subprocess.run(
        [Path(sys.executable).parent / "chamberlain"],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert offered in done.stdout.split(), done.stderr


def test_help_is_quick() -> None:
    code = (
        "import sys, chamberlain.app.cli as c; c.app(['--help'], standalone_mode=False);"
        "slow = {'msal', 'httpx2', 'asyncpg', 'starlette', 'pydantic', 'chamberlain_client'} & set(sys.modules);"
        "sys.exit(str(slow) if slow else 0)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)

    # A command imports its modules when it runs. The loaded modules show that on any machine; the duration would not.
    assert done.returncode == 0, done.stderr


def on_terminal(shell: Shell, arguments: tuple[str, ...], *, width: int) -> tuple[int, str]:
    """The final text of a terminal, without animations and formatting."""
    code, raw = raw_terminal(shell, arguments, width=width)
    return code, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", raw).replace("\r", "")


def raw_terminal(shell: Shell, arguments: tuple[str, ...], *, width: int) -> tuple[int, str]:
    """Run a command on a terminal of this width."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, **shell.variables, "TERM": "xterm-256color", "COLUMNS": str(width)}
    process = subprocess.Popen(
        [sys.executable, "-m", "chamberlain", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    said = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux raises it when the other end is closed.
            break
        if not part:
            break
        said += part
    os.close(ours)
    return process.wait(60), said.decode()
