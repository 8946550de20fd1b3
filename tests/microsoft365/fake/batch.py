# SPDX-License-Identifier: Apache-2.0
"""`$batch` (json-batching.md 028b8e35)."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.microsoft365.fake.answers import Answer, Call, GraphError, bad_request
from tests.microsoft365.fake.graph import as_part

Json: TypeAlias = Any
Part = Mapping[str, Json]

# "JSON batch requests are currently limited to 20 individual requests."
_MOST: Final = 20
_MEMBERS: Final = frozenset({"id", "method", "url", "headers", "body", "dependsOn"})


def answer_batch(call: Call, random: Random, answer: Callable[[Call], Answer]) -> Answer:
    """Answer the parts of a batch in an order that only `dependsOn` defines. Raises GraphError."""
    parts = _read(call.body)
    answers: dict[str, Json] = {}
    waiting = list(parts)
    random.shuffle(waiting)
    while waiting:
        ready = [each for each in waiting if {*each.get("dependsOn", ())} <= answers.keys()]
        if not ready:
            raise bad_request("The dependencies of the batch form a cycle.", "BadRequest")
        for each in ready:
            answers[each["id"]] = _answer_part(call, each, answers, answer)
        waiting = [each for each in waiting if each not in ready]
    # "Individual responses might appear in a different order than the requests."
    return Answer(200, {"responses": list(answers.values())})


def _answer_part(call: Call, part: Part, answers: Mapping[str, Json], answer: Callable[[Call], Answer]) -> Json:
    if any(answers[each]["status"] >= 400 for each in part.get("dependsOn", ())):
        # The page: any request that depends on it fails with status code 424, "Failed Dependency".
        error = {"code": "FailedDependency", "message": "A request that this one depends on failed."}
        return {"id": part["id"], "status": 424, "headers": {}, "body": {"error": error}}
    url = urlsplit("/" + part["url"].lstrip("/"))
    found = answer(
        as_part(
            call,
            method=part["method"].upper(),
            path=unquote(url.path),
            query=dict(parse_qsl(url.query, keep_blank_values=True)),
            headers={name.lower(): value for name, value in part.get("headers", {}).items()},
            body=part.get("body"),
        )
    )
    kind = {} if found.body is None else {"Content-Type": "application/json"}
    body = {} if found.body is None else {"body": found.body}
    return {"id": part["id"], "status": found.status, "headers": {**kind, **found.headers}, **body}


def _read(body: Json) -> list[Part]:
    parts = body.get("requests") if isinstance(body, dict) else None
    if not isinstance(parts, list) or not parts:
        raise bad_request("Invalid batch payload format.", "BadRequest")
    if len(parts) > _MOST:
        raise bad_request(f"Number of batch request steps exceeds the maximum value of {_MOST}.", "BadRequest")
    ids = [str(each.get("id", "")).lower() for each in parts]
    if "" in ids or len(set(ids)) < len(ids):
        # "Not case-sensitive. Must be unique in the batch, otherwise, the batch request fails with a 400."
        raise bad_request("Each request needs an id that is unique in the batch.", "BadRequest")
    for each in parts:
        _check(each, {one["id"] for one in parts})
    return parts


def _check(part: Part, ids: set[str]) -> None:
    is_text = all(isinstance(part.get(name), str) for name in ("id", "method", "url"))
    if not is_text or not {*part} <= _MEMBERS or "://" in part["url"]:
        raise bad_request("Invalid batch payload format.", "BadRequest")
    names = {name.lower() for name in part.get("headers", {})}
    if part.get("body") is not None and "content-type" not in names:
        # "When a body is included, the headers object must contain a value for Content-Type."
        raise GraphError(400, "BadRequest", "A part with a body needs the header Content-Type.")
    if not {*part.get("dependsOn", ())} <= ids - {part["id"]}:
        raise bad_request("A dependency is not in the batch.", "BadRequest")
