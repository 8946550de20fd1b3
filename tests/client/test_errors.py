# SPDX-License-Identifier: Apache-2.0
"""Convert responses to errors. No error contains a token."""

import json
import re
from typing import NoReturn

import pytest

from chamberlain_client import Chamberlain, ChamberlainError, Retries, errors
from chamberlain_client.errors import (
    AnswerNotUnderstood,
    Conflict,
    NotAnAddress,
    Refused,
    TokenUnusable,
    Unauthenticated,
    Unreachable,
)
from chamberlain_client.responses import Response, refusal_of
from tests.client.scripted_server import HANG_UP, Reply, answer, problem, scripted
from tests.services import TLS

ID = "7e000000-0000-4000-8000-000000000011"
SECRET = "eyJhbGciOiJub25lIn0.c2VjcmV0.c2ln"


def test_it_works() -> None:
    drawing = re.findall(r"^([│ ]*)(?:[├└]── )?(\w+)", errors.__doc__ or "", re.MULTILINE)
    classes = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, ChamberlainError)]
    family = {each.__name__: each for each in classes}

    drawn = [(len(indent) // 4, name) for indent, name in drawing if name in family]
    # The parent of a class is the last one with an indent of one level less.
    above: dict[int, str] = {}
    for name in (name for _, name in drawn):
        line = next(line for line in (errors.__doc__ or "").splitlines() if re.search(rf"\b{name}\b", line))
        depth = re.search(rf"\b{name}\b", line).start() // 4  # type: ignore[union-attr]  # The line was found by it.
        above[depth] = name
        if depth:
            assert family[name].__bases__[0] is family[above[depth - 1]], name
    assert {name for _, name in drawn} == set(family)


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "Malformed"),
        (401, "Unauthenticated"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (405, "Refused"),
        (409, "Conflict"),
        (412, "Stale"),
        (413, "BodyTooLarge"),
        (415, "Refused"),
        (421, "HostUnknown"),
        (422, "NotPossible"),
        (429, "LimitReached"),
        (500, "ServiceFault"),
        (503, "Unavailable"),
    ],
)
def test_it_has_a_class_for_each_status(status: int, name: str) -> None:
    with (
        scripted(problem(status, "code")) as server,
        client_of(server.url) as client,
        pytest.raises(Refused) as refused,
    ):
        client.mailboxes.get(ID)

    assert type(refused.value).__name__ == name
    assert (refused.value.status, refused.value.code, refused.value.detail) == (status, "code", "Not so.")
    assert refused.value.trace_id == "a1"


def test_it_lists_all_faults() -> None:
    fault = {"pointer": "/owners/0", "code": "userUnknown", "detail": "There is no such user."}
    body = {"code": "nameTaken", "detail": "No.", "errors": [fault], "conflictingId": ID, "limit": "l", "traceId": "t"}
    with scripted(answer(body, 409)) as server, client_of(server.url) as client, pytest.raises(Conflict) as refused:
        client.groups.create({})

    assert [(each.pointer, each.code) for each in refused.value.faults] == [("/owners/0", "userUnknown")]
    assert (refused.value.conflicting_id, refused.value.limit) == (ID, "l")
    assert "/owners/0: There is no such user. (userUnknown)" in str(refused.value)


def test_it_reports_truncated_faults() -> None:
    body = {"code": "invalidBody", "errors": [{"pointer": "/a", "code": "unknownProperty", "detail": "No."}]}

    refusals = [
        refusal_of(Response(400, {}, json.dumps(each).encode(), at=0.0))
        for each in (body, body | {"errorsTruncated": True})
    ]

    assert [isinstance(each, Refused) and each.faults_are_truncated for each in refusals] == [False, True]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        pytest.param(Reply(200, b"<html>"), "(200) is not one of the API", id="a page"),
        pytest.param(Reply(200, b'{"id": 1}'), "(200) is not one of the API", id="other JSON"),
        pytest.param(Reply(502, b"Bad gateway"), "(502) is not one of the API", id="a gateway"),
        pytest.param(Reply(302, headers={"location": "http://127.0.0.1:1/"}), "(302) is not one of", id="elsewhere"),
        pytest.param(Reply(404, b"\xff"), "(404) is not one of the API", id="no text"),
    ],
)
def test_it_rejects_responses_of_others(reply: Reply, message: str) -> None:
    with scripted(reply) as server, client_of(server.url) as client, pytest.raises(AnswerNotUnderstood) as error:
        client.mailboxes.get(ID)

    assert message in str(error.value)
    assert len(server.seen) == 1


def test_it_handles_overload_of_a_proxy() -> None:
    found = refusal_of(Response(503, {"retry-after": "3"}, b"<html>", at=0.0))

    assert isinstance(found, errors.Unavailable)
    assert (found.code, found.retry_after) == ("unknown", 3.0)


def test_it_handles_errors_of_the_directory() -> None:
    body = {"error": {"code": "BadRequest", "message": "No such filter.", "innerError": {}}}
    reply = answer(body, 400, request_id="r1")
    with scripted(reply) as server, client_of(server.url) as client, pytest.raises(errors.Malformed) as refused:
        client.directory.find_group(ID)

    assert (refused.value.code, refused.value.detail, refused.value.trace_id) == ("BadRequest", "No such filter.", "r1")


def failing() -> NoReturn:
    raise RuntimeError("The store of tokens is locked.")


@pytest.mark.parametrize("reply", [HANG_UP, problem(401, "tokenExpired"), Reply(200, b"no"), Reply(slow=True)])
def test_no_error_contains_the_token(reply: Reply) -> None:
    with scripted(reply) as server:
        client = Chamberlain(server.url, SECRET, timeout=0.05, retries=Retries(attempts=1), verify=TLS)
        with client, pytest.raises(ChamberlainError) as error:
            client.mailboxes.get(ID)

    cause: BaseException | None = error.value
    while cause is not None:
        assert SECRET not in f"{cause!r} {cause} {vars(cause)}"
        cause = cause.__cause__
    assert SECRET not in f"{client!r} {vars(client)!r}"


@pytest.mark.parametrize("token", ["", " ", "Bearer abc", "abc\r\nx: y", "ä", "abc\n"])
def test_it_rejects_an_invalid_token_and_does_not_show_it(token: str) -> None:
    with (
        scripted(answer({})) as server,
        Chamberlain(server.url, token, verify=TLS) as client,
        pytest.raises(TokenUnusable) as error,
    ):
        client.mailboxes.get(ID)

    assert server.seen == []
    assert "abc" not in str(error.value)


def test_it_passes_errors_of_a_token_source() -> None:
    with Chamberlain("http://127.0.0.1:1", failing, verify=TLS) as client, pytest.raises(RuntimeError, match="locked"):
        client.mailboxes.get(ID)


def test_it_gets_a_token_for_each_call() -> None:
    tokens = iter(["one", "two"])
    with (
        scripted(problem(401, "tokenExpired")) as server,
        Chamberlain(server.url, lambda: next(tokens), verify=TLS) as client,
    ):
        for _ in range(2):
            with pytest.raises(Unauthenticated):
                client.mailboxes.get(ID)

    assert [each.headers["authorization"] for each in server.seen] == ["Bearer one", "Bearer two"]


def test_it_reports_a_closed_port() -> None:
    client = Chamberlain("http://127.0.0.1:1", "t", retries=Retries(attempts=1), verify=TLS)
    with client, pytest.raises(Unreachable, match=r"No connection could be made to http://127\.0\.0\.1:1") as error:
        client.mailboxes.get(ID)

    assert not error.value.was_sent


@pytest.mark.parametrize(
    "url", ["", "chamberlain.example", "ftp://a", "https://", "http://a?b=c", "http://a:b", "https://a#b"]
)
def test_it_rejects_an_invalid_address(url: str) -> None:
    with pytest.raises(NotAnAddress, match="has to begin with https://"):
        Chamberlain(url, "t", verify=TLS)


def client_of(url: str) -> Chamberlain:
    return Chamberlain(url, "t", retries=Retries(attempts=1), verify=TLS)
