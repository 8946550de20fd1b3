# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import msgspec
import pytest
import typer

from chamberlain.cli.calls import Area, is_loopback, scopes_of
from chamberlain.cli.calls import Service as Caller
from chamberlain.cli.names import TEMPLATES, id_of, user_id
from chamberlain.cli.sign_ins import Context, Contexts, Profile, SignIns, SignInsUnreadable
from chamberlain.requests.cli import must_have_succeeded
from chamberlain_client.errors import AnswerNotUnderstood
from chamberlain_client.operations import READ_REQUEST, Server
from chamberlain_client.synchronous.transport import Transport
from chamberlain_client.timing import Clock, Retries
from tests.client.scripted_server import answer, scripted
from tests.services import BEN, GRAPH, TLS, Service

MAIL, COLLAB = ("https://api.example/mail/App.ReadWrite.All",), ("https://api.example/collab/App.ReadWrite.All",)
ADMIN, DIRECTORY = ("https://api.example/admin/Config.ReadWrite.All",), ("https://graph.example/Group.Read.All",)


@pytest.mark.parametrize(
    ("groups", "word", "chosen"),
    [
        ((MAIL + COLLAB + ADMIN, DIRECTORY), Area.ADMIN.value, MAIL + COLLAB + ADMIN),
        ((MAIL, COLLAB, ADMIN, DIRECTORY), Area.MAIL.value, MAIL),
        ((MAIL, COLLAB, ADMIN, DIRECTORY), Area.COLLAB.value, COLLAB),
        ((MAIL, COLLAB, ADMIN, DIRECTORY), Area.ADMIN.value, ADMIN),
        ((MAIL, COLLAB), Area.ADMIN.value, MAIL),
        ((COLLAB, DIRECTORY), Area.REQUESTS.value, COLLAB),
        ((MAIL, DIRECTORY), None, DIRECTORY),
        ((MAIL, COLLAB), None, None),
        (
            (("mail/App.ReadWrite.All",), ("collab/App.ReadWrite.All",)),
            Area.COLLAB.value,
            ("collab/App.ReadWrite.All",),
        ),
    ],
)
def test_it_works_to_choose_the_token_for_a_call(
    groups: tuple[tuple[str, ...], ...], word: str | None, chosen: tuple[str, ...] | None
) -> None:
    assert scopes_of(groups, word) == chosen


@pytest.mark.parametrize(
    ("server", "here"),
    [
        ("http://127.0.0.1:8365", True),
        ("https://localhost", True),
        ("http://[::1]:8365", True),
        ("https://chamberlain.example.org", False),
        ("https://localhost.example.org", False),
        ("https://10.0.0.1", False),
    ],
)
def test_it_tells_this_machine_from_others(server: str, *, here: bool) -> None:
    assert is_loopback(server) is here


def test_a_user_is_found_by_address_where_that_may_be_read(service: Service) -> None:
    with directory(service) as caller:
        assert user_id(caller, "ben@estate.example") == BEN
        assert user_id(caller, BEN) == BEN


@pytest.mark.parametrize("address", ["nobody@estate.example", "x' or mail ne '@", "o'hara@estate.example"])
def test_it_rejects_a_user_whom_nobody_knows(service: Service, address: str) -> None:
    # The typed text is a value of the filter and never a part of its syntax.
    with directory(service) as caller, pytest.raises(typer.Exit) as ended:
        user_id(caller, address)

    assert ended.value.exit_code == 4


@pytest.mark.parametrize(
    "answered",
    [
        pytest.param({}, id="what the API always gives is missing"),
        pytest.param({"items": None, "nextCursor": None}, id="no list"),
        pytest.param({"items": [7], "nextCursor": None}, id="no things"),
        pytest.param({"items": [{"id": "\ud800"}], "nextCursor": None}, id="half a character"),
        pytest.param({"items": [{}], "nextCursor": None}, id="things without a name"),
        pytest.param({"items": [{"name": "x"}], "nextCursor": "c"}, id="a page that leads to itself"),
    ],
)
def test_it_rejects_lists_that_are_none_of_the_api(answered: object) -> None:
    with scripted(answer(answered)) as server, elsewhere(server.url) as caller, pytest.raises(AnswerNotUnderstood):
        id_of(caller, "Room", TEMPLATES)


def test_it_rejects_things_without_what_all_of_them_have() -> None:
    with scripted(answer({"kind": "room"})) as server, elsewhere(server.url) as caller:
        request = caller.read(READ_REQUEST, BEN)
        with pytest.raises(AnswerNotUnderstood, match="it has no state"):
            must_have_succeeded(request)


def test_the_group_of_a_request_is_found_by_the_prefix_of_its_tenant() -> None:
    with scripted(answer({"value": [{"id": BEN}]})) as server, elsewhere(server.url) as caller:
        found = caller.find_group(BEN, "house")

    assert found == {"id": BEN}
    assert f"house_group%2FrequestId+eq+%27{BEN}%27" in server.seen[0].path


def test_sign_ins_are_kept_by_context(tmp_path: Path) -> None:
    kept = SignIns(tmp_path / "made" / "here")
    one = Context("http://one", sign_in=profile("http://one"))

    with kept.locked():
        kept.remember("one", one)
        kept.remember("other", Context("http://other"))

    assert kept.contexts() == Contexts("other", {"one": one, "other": Context("http://other")})
    assert kept.is_used("account")
    assert (tmp_path / "made" / "here").stat().st_mode & 0o777 == 0o700
    assert {path.name for path in (tmp_path / "made" / "here").iterdir()} == {"lock", "contexts.json"}


def test_sign_ins_of_before_become_contexts(tmp_path: Path) -> None:
    one, other = profile("http://one:8365"), profile("https://one.example")
    before = {"last": one.server, "servers": {each.server: each for each in (one, other)}}
    (tmp_path / "profiles.json").write_bytes(msgspec.json.encode(before))
    kept = SignIns(tmp_path)

    contexts = kept.contexts()
    with kept.locked():
        kept.write_contexts(contexts)

    assert contexts.current == "one:8365"
    assert {name: each.sign_in for name, each in contexts.contexts.items()} == {"one:8365": one, "one.example": other}
    assert kept.contexts() == contexts
    assert not (tmp_path / "profiles.json").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"AccessToken": 5}', '{"AccessToken": {"a": "secret"}}'])
def test_it_rejects_tokens_that_cannot_be_understood(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokens.json").write_text(text)

    with pytest.raises(SignInsUnreadable, match="cannot be understood") as error:
        SignIns(tmp_path).read_tokens()

    assert "secret" not in str(error.value)


def test_it_rejects_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SignInsUnreadable, match="CHAMBERLAIN_CONFIG_DIR may name another folder"):
        SignIns(tmp_path / "file").read_tokens()


def profile(server: str) -> Profile:
    return Profile(server, "https://id.example", "client", (MAIL,), "account", "ada@estate.example")


@contextmanager
def elsewhere(url: str) -> Iterator[Caller]:
    """Something else at the address of the service."""
    with httpx2.Client(verify=TLS) as client:
        addresses = dict.fromkeys(Server, url)
        yield Caller(
            Transport(
                client, addresses, dict.fromkeys(Server, "t"), timeout=30, retries=Retries(attempts=1), clock=Clock()
            )
        )


@contextmanager
def directory(service: Service) -> Iterator[Caller]:
    """The service, for a program that may read who is in the directory."""
    with httpx2.Client(verify=TLS) as client:
        addresses = {Server.GRAPH: f"{service.url}/graph"}
        tokens = {Server.GRAPH: service.token("automation", f"{GRAPH}/.default")}
        yield Caller(Transport(client, addresses, tokens, timeout=30, retries=Retries(attempts=1), clock=Clock()))
