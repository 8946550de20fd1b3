# SPDX-License-Identifier: Apache-2.0
import ast
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

import chamberlain
from chamberlain.core import errors
from chamberlain.core.errors import (
    BodyInvalid,
    Conflict,
    Fault,
    LimitReached,
    Malformed,
    NotFound,
    Refusal,
    Unauthenticated,
    Unavailable,
)
from chamberlain.core.ids import TraceId
from chamberlain.http import problems
from chamberlain.http.problems import KINDS, kind_of, problem_of

TRACE = TraceId("4bf92f3577b34da6a3ce929d0e0e4736")


def test_it_works() -> None:
    fault = Fault("/displayName", "missingProperty", "displayName is required.")

    answer = problem_of(BodyInvalid([fault]), "/collab/v1/groups/", TRACE)

    assert answer.status == 400
    assert answer.content_type == b"application/problem+json"
    assert msgspec.json.decode(answer.body) == {
        "type": "/problems/invalidBody",
        "title": "The body is invalid.",
        "status": 400,
        "code": "invalidBody",
        "detail": "The body has 1 error.",
        "instance": "/collab/v1/groups/",
        "traceId": TRACE,
        "errors": [{"pointer": "/displayName", "code": "missingProperty", "detail": "displayName is required."}],
    }


def test_it_leaves_out_what_does_not_apply() -> None:
    body = msgspec.json.decode(problem_of(NotFound("Nothing."), "/x", TRACE).body)

    assert list(body) == ["type", "title", "status", "code", "detail", "instance", "traceId"]


@pytest.mark.parametrize(
    ("refusal", "status", "headers"),
    [
        (Unavailable("overloaded", "Later."), 503, {b"retry-after": b"1"}),
        (Unavailable("overloaded", "Later.", after=timedelta(milliseconds=1200)), 503, {b"retry-after": b"2"}),
        (LimitReached("rateExceeded", "Slower.", limit="calls", after=timedelta()), 429, {b"retry-after": b"1"}),
        (Conflict("idempotencyKeyInProgress", "Wait.", after=timedelta(seconds=1)), 409, {b"retry-after": b"1"}),
        (Conflict("nameTaken", "Taken."), 409, {}),
        (Unauthenticated("tokenMissing", "Send one."), 401, {b"www-authenticate": b"Bearer"}),
        (Malformed("invalidCursor", "Not yours."), 400, {}),
    ],
)
def test_every_kind_has_its_headers(refusal: Refusal, status: int, headers: dict[bytes, bytes]) -> None:
    answer = problem_of(refusal, "/x", TRACE)

    assert (answer.status, dict(answer.headers)) == (status, headers)


def test_some_kinds_have_members_of_their_own() -> None:
    taken = problem_of(Conflict("nameTaken", "Taken.", conflicting_id="7e0"), "/x", TRACE)
    values = {"max": 3}
    full = LimitReached("quotaExceeded", "{max} at most.", limit="streams", after=timedelta(hours=1), values=values)
    limit = problem_of(full, "/x", TRACE)

    assert msgspec.json.decode(taken.body)["conflictingId"] == "7e0"
    body = msgspec.json.decode(limit.body)
    assert (body["limit"], body["detail"], body["values"]) == ("streams", "3 at most.", values)


def test_a_conflict_points_to_the_property() -> None:
    conflict = Conflict.at(Fault.build("/name", "nameTaken", "{name} is taken.", name="A"))

    body = msgspec.json.decode(problem_of(conflict, "/x", TRACE).body)

    fault = {"pointer": "/name", "code": "nameTaken", "detail": "A is taken.", "values": {"name": "A"}}
    assert (body["code"], body["detail"], body["errors"]) == ("nameTaken", "A is taken.", [fault])
    assert "conflictingId" not in body


def test_it_lists_a_hundred_faults_and_says_that_there_are_more() -> None:
    faults = (Fault(f"/p{number}", "unknownProperty", "There is no such property.") for number in range(10_000))

    body = msgspec.json.decode(problem_of(BodyInvalid(faults), "/x", TRACE).body)

    assert len(body["errors"]) == 100
    assert body["errorsTruncated"] is True
    # The generator was not run to its end: the work stops as well.
    assert next(faults).pointer == "/p101"


def test_a_path_that_is_no_reference_becomes_one() -> None:
    answer = problem_of(NotFound("Nothing."), '/a b/"\u00e9\n?#', TRACE)

    assert msgspec.json.decode(answer.body)["instance"] == "/a%20b/%22%C3%A9%0A%3F%23"


def raised() -> Iterator[tuple[type[Refusal], str]]:
    """Every refusal of the source with a literal code.

    The embedded packages have errors of their own, some of the same names.
    """
    package = Path(chamberlain.__file__).parent
    for path in package.rglob("*.py"):
        if path.is_relative_to(package / "embedded"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case (
                    ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(code)), *_])
                    | ast.Call(
                        func=ast.Attribute(value=ast.Name(id=name), attr="build"),
                        args=[ast.Constant(value=str(code)), *_],
                    )
                ):
                    family = getattr(errors, name, None)
                    if isinstance(family, type) and issubclass(family, Refusal) and family is not NotFound:
                        yield family, code
                case _:
                    pass


def test_every_code_of_the_source_has_a_title() -> None:
    found = set(raised())

    assert (errors.Conflict, "stateDoesNotAllow") in found
    assert [(family, code) for family, code in found if code not in kind_of(family).titles] == []


def test_no_code_means_two_things() -> None:
    codes = [code for kind in KINDS.values() for code in kind.titles]

    assert len(codes) == len(set(codes))
    assert problems.BUG not in codes
