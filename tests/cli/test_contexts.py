# SPDX-License-Identifier: Apache-2.0
"""Contexts: services by name, each with its sign-in."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.shell import Shell

ELSEWHERE = "http://127.0.0.1:1"


@pytest.fixture
def shell(ada: Shell, tmp_path: Path) -> Shell:
    """A shell of Ada with another context beside her own."""
    for path in ada.config.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    copy = Shell(ada.service, tmp_path)
    copy.done("context", "add", "elsewhere", "--server", ELSEWHERE, "--tenant", "t")
    return copy


def test_it_works(shell: Shell) -> None:
    own = f"127.0.0.1:{shell.service.port}"

    before = shell.done("context", "list", "-o", "json").json
    shell.done("context", "use", "elsewhere")
    used = shell.done("context", "show").out
    shell.done("context", "remove", "elsewhere")

    assert [(each["name"], each["current"], each["username"]) for each in before] == [
        (own, True, "ada@estate.example"),
        ("elsewhere", False, None),
    ]
    assert re.search(rf"^server +{ELSEWHERE}$", used, re.MULTILINE)
    assert shell.done("context", "list", "-o", "name").out == f"{own}\n"
    assert shell.done("request", "list").code == 0


def test_it_chooses_the_service_and_the_sign_in(shell: Shell) -> None:
    elsewhere = shell.run("request", "list", "--context", "elsewhere")
    by_environment = Shell(shell.service, shell.config, {"CHAMBERLAIN_CONTEXT": "elsewhere"}).run("request", "list")

    assert elsewhere.code == 3
    nobody = f"No user is signed in at {ELSEWHERE}. Sign in: chamberlain login"
    assert elsewhere.err == f"{nobody} --context elsewhere\n"
    assert by_environment.err == f"{nobody}.\n"


def test_the_advice_names_the_option_of_the_command(shell: Shell) -> None:
    by_server = shell.run("request", "list", "--server", "http://127.0.0.1:2")
    by_port = shell.run("request", "list", "--port", "3")

    assert by_server.err.endswith("Sign in: chamberlain login --server http://127.0.0.1:2\n")
    assert by_port.err.endswith("Sign in: chamberlain login --port 3\n")


def test_to_sign_out_of_another_context_does_not_choose_it(shell: Shell) -> None:
    shell.done("context", "use", "elsewhere")

    shell.done("logout")

    assert shell.done("context", "show", "--fields", "name").out.split() == ["name", "elsewhere"]
    assert shell.run("request", "list").code == 3


def test_a_sign_in_of_before_is_still_good(shell: Shell) -> None:
    kept = json.loads((shell.config / "contexts.json").read_text())
    profile = kept["contexts"][kept["current"]]["sign_in"]
    (shell.config / "contexts.json").unlink()
    before = {"last": profile["server"], "servers": {profile["server"]: profile}}
    (shell.config / "profiles.json").write_text(json.dumps(before))

    assert shell.done("whoami", "-o", "json").json["username"] == "ada@estate.example"
    assert shell.done("context", "list", "-o", "name").out == f"127.0.0.1:{shell.service.port}\n"


def test_tokens_go_with_their_context(shell: Shell) -> None:
    shell.done("context", "remove", f"127.0.0.1:{shell.service.port}")

    assert "eyJ" not in (shell.config / "tokens.json").read_text()
    assert shell.run("request", "list").code == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("request", "list", "--context", "elsewere"), "There is no context elsewere. Did you mean elsewhere?"),
        (("request", "list", "--context", "elsewhere", "--port", "1"), "Name either the --port or the --context."),
        (("context", "use", "x"), "There is no context x. Run chamberlain context list to see all."),
        (("context", "add", "elsewhere", "--server", ELSEWHERE), "There is a context elsewhere already."),
        (("context", "add", "a b", "--server", ELSEWHERE), "The NAME of a context has no spaces"),
    ],
)
def test_it_rejects_what_makes_no_sense(shell: Shell, arguments: tuple[str, ...], sentence: str) -> None:
    ended = shell.run(*arguments)

    assert ended.code == 2
    assert ended.err.startswith(sentence)


@pytest.mark.parametrize("address", ["example.org", "http://", "https://ada:secret@example.org"])
@pytest.mark.parametrize("command", [("context", "add", "y"), ("request", "list")])
def test_an_address_that_is_none_is_named_by_its_option(shell: Shell, command: tuple[str, ...], address: str) -> None:
    ended = shell.run(*command, "--server", address)

    assert ended.code == 78
    assert ended.err.startswith(f'--server is "{address}": ')
    assert "y\n" not in shell.done("context", "list", "-o", "name").out


def test_calls_are_shown_without_tokens(shell: Shell) -> None:
    shown = shell.done("request", "list", "--limit", "1", "--verbose").err

    own = re.escape(f"127.0.0.1:{shell.service.port}")
    assert re.search(rf"^GET {own}/requests/v1/\?limit=2 200 \d+ ms request-id [0-9a-f]{{32}}$", shown, re.MULTILINE)
    tokens = json.loads((shell.config / "tokens.json").read_text())["AccessToken"].values()
    assert not any(each["secret"] in shown for each in tokens)
