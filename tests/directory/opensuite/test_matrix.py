# SPDX-License-Identifier: Apache-2.0
"""Answers of a homeserver: successes, refusals and temporary failures."""

from collections.abc import Callable
from datetime import timedelta

import httpx2
import pytest

from chamberlain.core.errors import Cause, ConnectionBroken, Rejected, TryAgain
from chamberlain.directory.opensuite.matrix import Homeserver, Matrix, MatrixRefused, StateEvent

SERVER = Homeserver("http://matrix.example/", "estate.example", "token")
ROOM = "!a/b:estate.example"


def answering(answer: Callable[[httpx2.Request], httpx2.Response], server: Homeserver = SERVER) -> Matrix:
    """Return the calls of a homeserver that answers so."""
    return Matrix(httpx2.AsyncClient(transport=httpx2.MockTransport(answer)), server)


def always(status: int, body: object) -> Matrix:
    return answering(lambda _: httpx2.Response(status, json=body))


async def test_it_works() -> None:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json={"event_id": "$1"})

    await answering(answer).put_state(ROOM, StateEvent("m.room.name", "", {"name": "Häfen"}))

    [request] = asked
    path = "/_matrix/client/v3/rooms/%21a%2Fb%3Aestate.example/state/m.room.name/"
    query = "user_id=%40chamberlain%3Aestate.example"
    assert (request.method, request.url.raw_path.decode()) == ("PUT", f"{path}?{query}")
    assert request.headers["Authorization"] == "Bearer token"
    assert request.content.decode() == '{"name":"Häfen"}'


async def test_it_joins_on_behalf_of_a_user() -> None:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json={"room_id": ROOM})

    await answering(answer).join(ROOM, "ada")

    assert asked[0].url.params["user_id"] == "@ada:estate.example"


@pytest.mark.parametrize(
    ("status", "body", "after", "cause"),
    [
        (429, {"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 2500}, timedelta(seconds=2.5), Cause.BUSY),
        (429, {"errcode": "M_LIMIT_EXCEEDED"}, timedelta(seconds=1), Cause.BUSY),
        (500, {"errcode": "M_UNKNOWN"}, timedelta(seconds=5), Cause.AWAY),
        (502, "<html>", timedelta(seconds=5), Cause.AWAY),
        (200, {"unexpected": 1}, timedelta(seconds=5), Cause.AWAY),
    ],
)
async def test_temporary_failures(status: int, body: object, after: timedelta, cause: Cause) -> None:
    with pytest.raises(TryAgain) as failed:
        await always(status, body).create_room({})

    assert not isinstance(failed.value, ConnectionBroken)
    assert (failed.value.after, failed.value.cause) == (after, cause)


async def test_a_server_that_does_not_answer_is_away() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    with pytest.raises(TryAgain) as failed:
        await answering(answer).whoami()

    assert (failed.value.cause, failed.value.because.code) == (Cause.AWAY, "directoryNotAvailable")


@pytest.mark.parametrize("code", ["M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"])
async def test_a_refused_token_breaks_the_connection(code: str) -> None:
    with pytest.raises(ConnectionBroken) as broken:
        await always(401, {"errcode": code}).whoami()

    assert broken.value.because.code == "serverRefusesCredential"


async def test_other_refusals_are_permanent() -> None:
    with pytest.raises(MatrixRefused) as refused:
        await always(400, {"errcode": "M_ROOM_IN_USE", "error": "Room alias\nis taken"}).create_room({})

    assert isinstance(refused.value, Rejected)
    assert (refused.value.status, refused.value.matrix_code, refused.value.code) == (
        400,
        "M_ROOM_IN_USE",
        "notAccepted",
    )
    assert "\n" not in refused.value.detail


async def test_missing_objects_are_none() -> None:
    absent = always(404, {"errcode": "M_NOT_FOUND"})
    hidden = always(403, {"errcode": "M_FORBIDDEN"})

    assert await absent.find_alias("#a:estate.example") is None
    assert (await absent.state(ROOM), await hidden.state(ROOM)) == (None, None)
    assert (await absent.hierarchy(ROOM), await hidden.hierarchy(ROOM)) == (None, None)
    assert (await absent.has_account("ada"), await hidden.has_account("ada")) == (False, True)
    await absent.delete_alias("#a:estate.example")
    await always(400, {"errcode": "M_USER_IN_USE"}).register("ada")


async def test_a_space_is_listed_in_pages() -> None:
    pages = {
        None: {"rooms": [{"room_id": "!s", "name": "Space"}, {"room_id": "!1", "name": "One"}], "next_batch": "n+/"},
        "n+/": {"rooms": [{"room_id": "!2"}]},
    }

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=pages[request.url.params.get("from")])

    found = await answering(answer).hierarchy("!s")

    assert found is not None
    assert [(each.room_id, each.name) for each in found] == [("!s", "Space"), ("!1", "One"), ("!2", "")]


async def test_activity_needs_the_token_of_an_administrator() -> None:
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers["Authorization"])
        return httpx2.Response(200, json={"last_seen_ts": 1_795_000_000_000})

    administered = Homeserver(SERVER.url, SERVER.name, SERVER.token, admin_token="more")

    assert await answering(answer).last_seen("ada") is None
    seen = await answering(answer, administered).last_seen("ada")
    assert seen is not None
    assert (seen.timestamp(), asked) == (1_795_000_000, ["Bearer more"])
    assert await always(200, {"last_seen_ts": None}).last_seen("ada") is None
