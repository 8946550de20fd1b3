# SPDX-License-Identifier: Apache-2.0
"""`/$batch`: up to 20 calls in one request.

Each part is a call of its own, with its own status, headers and permissions. It has the token of the batch. The parts
run in the order of their dependencies. A part that depends on a failed one gets 424.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

import msgspec

from chamberlain.embedded.directory.errors import BadQuery
from chamberlain.embedded.directory.graph.calls import Call, Part, PartAnswer, Shape
from chamberlain.embedded.directory.graph.options import read_options

# The limit of Graph.
MOST_PARTS = 20
# Bytes of all answers of a batch: 20 full pages of groups are less.
MOST_ANSWERED = 32 * 1024 * 1024


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    method: str
    url: str
    headers: dict[str, str] = {}
    body: msgspec.Raw = msgspec.Raw()
    depends_on: list[str] = msgspec.field(default_factory=list, name="dependsOn")


class _Batch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    requests: list[_Part]


async def run_batch(call: Call) -> Shape:
    """Run the parts of a batch.

    Raises BadQuery if the batch itself is invalid.
    """
    read_options(call.query_string)
    parts = call.read_body(_Batch).requests
    answers: dict[str, PartAnswer] = {}
    answered = 0
    for part in _in_order(parts):
        if any(answers[each].status >= 400 for each in part.depends_on):
            answers[part.id] = _failed(424, "FailedDependency", "A part that this one depends on has failed.")
        elif answered > MOST_ANSWERED:
            answers[part.id] = _failed(413, "ResponseSizeExceeded", f"The batch answers at most {MOST_ANSWERED} bytes.")
        else:
            answers[part.id] = await _run(call, part)
        answered += len(answers[part.id].body)
    return {"responses": [_shape(part_id, answer) for part_id, answer in answers.items()]}


def _in_order(parts: Sequence[_Part]) -> Sequence[_Part]:
    """Sort the parts by their dependencies. Raises BadQuery."""
    if not 1 <= len(parts) <= MOST_PARTS:
        raise BadQuery("BadRequest", f"A batch has 1 to {MOST_PARTS} requests; this one has {len(parts)}.")
    waiting = {part.id: part for part in parts}
    if len(waiting) < len(parts):
        raise BadQuery("BadRequest", "Each request of a batch needs an id of its own.")
    ordered: list[_Part] = []
    while waiting:
        ready = [part for part in waiting.values() if not any(each in waiting for each in part.depends_on)]
        if not ready:
            raise BadQuery("BadRequest", "Requests of the batch depend on each other.")
        ordered += ready
        for part in ready:
            del waiting[part.id]
    ids = {part.id for part in parts}
    unknown = [each for part in parts for each in part.depends_on if each not in ids]
    if unknown:
        raise BadQuery("BadRequest", f"'dependsOn' names the unknown id '{unknown[0]}'.")
    return ordered


async def _run(call: Call, part: _Part) -> PartAnswer:
    path, _, query = part.url.partition("?")
    path = f"/{unquote(path).strip('/')}"
    if path.startswith("/$batch"):
        return _failed(400, "BadRequest", "A batch cannot contain a batch.")
    if "://" in path or not part.url.isascii():
        return _failed(400, "BadRequest", "The URL of a part is relative to /v1.0 and encoded.")
    headers = {name.lower(): value for name, value in part.headers.items()}
    return await call.send_part(Part(part.method.upper(), path, query.encode(), headers, bytes(part.body)))


def _failed(status: int, code: str, message: str) -> PartAnswer:
    body = msgspec.json.encode({"error": {"code": code, "message": message}})
    return PartAnswer(status, {"content-type": "application/json"}, body)


def _shape(part_id: str, answer: PartAnswer) -> Shape:
    shape: Shape = {"id": part_id, "status": answer.status, "headers": _headers(answer.headers)}
    # A count is a number as text, which is valid JSON.
    return {**shape, "body": msgspec.Raw(answer.body)} if answer.body else shape


def _headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Write the names of headers as Graph does: `Retry-After`."""
    return {"-".join(word.capitalize() for word in name.split("-")): value for name, value in headers.items()}
