# SPDX-License-Identifier: Apache-2.0
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from chamberlain.cli.sign_ins import SignIns
from tests.cli.browser_user import browser_user
from tests.cli.shell import Shell
from tests.services import ADA, ADA_MAIL, API, BEN, GRAPH, ZOE_MAIL, Service, wait_until

PROMPT = r"Open (https://\S+/identity/device) and enter the code (\S+) within 15 minutes"
BEN_MAIL = "ben@estate.example"
OTHER = "e57a7e00-0000-4000-8000-000000000002"


def test_it_works_with_a_code(nobody: Shell, service: Service) -> None:
    with nobody.started("login", "--json") as login, browser_user(service) as ada:
        address, code = login.wait_for(PROMPT).groups()
        ada.allow(address, code)
        ended = login.end()

    prompt, outcome = ended.lines
    assert ended.code == 0
    assert (prompt["verificationUri"], prompt["userCode"]) == (address, code)
    assert outcome["username"] == ADA_MAIL
    assert ended.err.endswith(f"ada@estate.example is signed in at {service.url}.\n")
    assert nobody.done("request", "list").code == 0


def test_a_browser_opens_with_the_code(nobody: Shell, tmp_path: Path) -> None:
    (browser := tmp_path / "browser").write_text(
        f'#!/bin/sh\necho "$1" > {tmp_path}/opening\nmv {tmp_path}/opening {tmp_path}/opened\n'
    )
    browser.chmod(0o700)

    with Shell(nobody.service, nobody.config, {"BROWSER": str(browser)}).started("login") as login:
        address, code = login.wait_for(PROMPT).groups()
        wait_until((tmp_path / "opened").exists, 60.0)
        login.interrupt()

    assert (tmp_path / "opened").read_text() == f"{address}?user_code={code}\n"


def test_it_names_the_ssh_command_over_ssh(nobody: Shell) -> None:
    with Shell(nobody.service, nobody.config, {"SSH_CONNECTION": "192.0.2.1", "BROWSER": ""}).started("login") as login:
        port = nobody.service.port + 1
        login.wait_for(rf"run this there first:\nssh -L {port}:localhost:{port} \S+@\S+\n")
        login.interrupt()


def test_it_works_with_a_browser(ada: Shell) -> None:
    # One sign-in serves the API and the directory.
    created = ada.done(
        "group", "create", "--template", "Project group", "--display-name", "Browsed", "--wait", "--json"
    )

    found = ada.done("group", "show", "--request", created.json["requestId"], "--json")

    assert found.json["id"] == created.json["group"]["id"]


def test_it_says_who_is_signed_in_already_and_asks_nobody(ada: Shell, service: Service) -> None:
    ended = ada.run("login")

    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith(f"ada@estate.example is already signed in at {service.url}.")


def test_it_says_so_in_json(ada: Shell, service: Service) -> None:
    ended = ada.run("login", "--json")

    assert ended.json["username"] == "ada@estate.example"
    assert ended.json["server"] == service.url


def test_it_keeps_tokens_for_their_owner_alone(ada: Shell) -> None:
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in ada.config.iterdir()}

    assert modes == {"lock": 0o600, "contexts.json": 0o600, "tokens.json": 0o600}


def test_a_file_that_was_put_in_its_place_gets_no_token(tmp_path: Path) -> None:
    (theirs := tmp_path / "theirs").touch(0o666)
    (tmp_path / f".tokens.json.{os.getpid()}").symlink_to(theirs)

    SignIns(tmp_path).write_tokens("{}")

    kept = tmp_path / "tokens.json"
    assert (kept.read_text(), stat.S_IMODE(kept.lstat().st_mode), kept.is_symlink()) == ("{}", 0o600, False)
    assert theirs.read_text() == ""


@pytest.mark.heavy
def test_it_rejects_when_the_person_does(nobody: Shell, service: Service) -> None:
    with nobody.started("login") as login, browser_user(service) as ada:
        ada.deny(*login.wait_for(PROMPT).groups())
        ended = login.end()

    assert ended.code == 3
    assert "Traceback" not in ended.err
    assert nobody.run("whoami").code == 3


def test_ctrl_c_ends_the_signing_in(nobody: Shell) -> None:
    with nobody.started("login") as login:
        login.wait_for(PROMPT)
        login.interrupt()
        ended = login.end()

    assert ended.code == 130
    assert "Traceback" not in ended.err


def test_somebody_of_another_tenant_signs_in_there(nobody: Shell, service: Service) -> None:
    with nobody.started("login", "--browser", "--tenant", OTHER) as login, browser_user(service, ZOE_MAIL) as zoe:
        page = zoe.sign_in(login.wait_for(r"https://\S+/authorize\S+")[0])
        ended = login.end()

    assert page.heading == "You are signed in."
    assert ended.code == 0, ended.err
    assert nobody.done("whoami", "--json").json["tenantId"] == OTHER


def test_two_at_once_are_both_remembered(nobody: Shell, service: Service) -> None:
    # Of the same folder; the service has two addresses.
    elsewhere = f"http://localhost:{service.port}"
    with ExitStack() as stack:
        logins = [
            (stack.enter_context(nobody.started("login", "--browser", *options)), address)
            for options, address in (((), ADA_MAIL), (("--server", elsewhere), BEN_MAIL))
        ]
        people = [(login, stack.enter_context(browser_user(service, address))) for login, address in logins]
        places = [login.wait_for(r"https://\S+/authorize\S+")[0] for login, _ in people]
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda each: each[0][1].sign_in(each[1]), zip(people, places, strict=True)))
        ends = [login.end() for login, _ in people]

    assert [ended.code for ended in ends] == [0, 0], [ended.err for ended in ends]
    assert nobody.done("whoami", "--json").json["username"] == ADA_MAIL
    assert nobody.done("whoami", "--server", elsewhere, "--json").json["username"] == BEN_MAIL


def test_nothing_is_kept_of_who_was_signed_in_before(ada: Shell, service: Service, tmp_path: Path) -> None:
    shell = Shell(service, copy_of(ada.config, tmp_path))
    assert ADA in (tmp_path / "tokens.json").read_text()

    with shell.started("login", "--browser", "--again") as login, browser_user(service, BEN_MAIL) as ben:
        ben.sign_in(login.wait_for(r"https://\S+/authorize\S+")[0])
        ended = login.end()

    assert ended.code == 0, ended.err
    assert ADA not in (tmp_path / "tokens.json").read_text()
    assert shell.done("whoami", "--json").json["username"] == BEN_MAIL


def test_a_token_that_has_ended_is_renewed_by_one_of_many(ada: Shell, tmp_path: Path) -> None:
    shell = Shell(ada.service, copy_of(ada.config, tmp_path))
    kept = json.loads((tmp_path / "tokens.json").read_text())
    for entry in kept["AccessToken"].values():
        entry["expires_on"] = entry["cached_at"]
    (tmp_path / "tokens.json").write_text(json.dumps(kept))

    with ExitStack() as stack:
        started = [stack.enter_context(shell.started("whoami", "--json")) for _ in range(3)]
        ends = [each.end() for each in started]

    # A refresh token is good once: who does not look again after waiting would end the sign-in.
    assert [ended.code for ended in ends] == [0, 0, 0], [ended.err for ended in ends]
    assert {ended.json["tokens"][0]["expiresAt"] for ended in ends} == {ends[0].json["tokens"][0]["expiresAt"]}
    # The renewed sign-in is that of the fixture, too.
    copy_of(tmp_path, ada.config)


def test_whoami_tells_what_the_tokens_say(ada: Shell) -> None:
    said = ada.done("whoami", "--json").json

    assert (said["id"], said["username"], said["type"]) == (ADA, ADA_MAIL, "user")
    assert said["signedInBy"] == "login"
    assert [token["audience"] for token in said["tokens"]] == [API, GRAPH]
    assert "admin/Config.ReadWrite.All" in said["tokens"][0]["permissions"]
    assert ADA in ada.done("whoami").out


def test_a_token_of_the_environment_comes_first(ada: Shell, service: Service) -> None:
    shell = ada.with_token(service.token(BEN_MAIL, f"{API}/mail/App.ReadWrite.All"))

    said = shell.done("whoami", "--json").json

    assert (said["id"], said["signedInBy"]) == (BEN, "CHAMBERLAIN_TOKEN")
    assert shell.done("login").err.endswith("CHAMBERLAIN_TOKEN is set, and comes before it.\n")
    assert said["tokens"][0]["permissions"] == ["mail/App.ReadWrite.All"]


def test_a_program_is_told_from_a_person(ada: Shell, service: Service) -> None:
    said = ada.with_token(service.token("automation", f"{API}/.default")).done("whoami", "--json").json

    assert said["type"] == "application"


def test_a_token_is_sent_to_no_other_server(ada: Shell) -> None:
    server = f"http://localhost:{ada.service.port}"

    ended = ada.run("request", "list", "--server", server)

    assert ended.code == 3
    assert ended.err == f"No user is signed in at {server}. Sign in: chamberlain login --server {server}\n"


def test_logout_forgets_and_says_where_the_browser_is_signed_out(ada: Shell, tmp_path: Path) -> None:
    shell = Shell(ada.service, copy_of(ada.config, tmp_path))

    ended = shell.run("logout")

    assert ended.code == 0
    assert "/oauth2/v2.0/logout" in ended.err
    assert "eyJ" not in (tmp_path / "tokens.json").read_text()
    assert shell.run("request", "list").code == 3
    assert shell.run("logout").err.startswith("No user is signed in")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--server", "https://chamberlain.example.org"), "is not on this machine: name the --issuer"),
        (("--issuer", "http://id.example.org"), "has to begin with https://"),
        (("--issuer", "https://a.example", "--tenant", "x"), "Name either the --issuer or the --tenant"),
        (("--server", "http://localhost:1", "--port", "1"), "Name either the --server or the --port"),
        (("--ca", "nothing.pem", "--again"), "--ca nothing.pem cannot be used"),
    ],
)
def test_it_rejects_what_makes_no_sense(nobody: Shell, options: tuple[str, ...], sentence: str) -> None:
    ended = nobody.run("login", *options)

    assert ended.code == 2
    assert sentence in ended.err


def test_it_rejects_an_issuer_that_does_not_answer(nobody: Shell) -> None:
    ended = nobody.run("login", "--issuer", "https://localhost:1/identity")

    assert ended.code == 6
    assert ended.err.startswith("The identity platform https://localhost:1/identity cannot be reached")


def test_it_rejects_a_scope_that_is_not_there_with_what_the_platform_says(nobody: Shell) -> None:
    ended = nobody.run("login", "--scope", f"{API}/collab/Everything")

    assert ended.code == 3
    assert f"{API}/collab/Everything" in ended.err


def test_it_says_which_file_it_cannot_read(nobody: Shell) -> None:
    (nobody.config / "contexts.json").write_text("{")

    ended = nobody.run("whoami")

    assert ended.code == 1
    assert "contexts.json cannot be understood" in ended.err


def copy_of(folder: Path, into: Path) -> Path:
    for path in folder.iterdir():
        (into / path.name).write_bytes(path.read_bytes())
    return into
