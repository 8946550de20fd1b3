"""What a call carries beside its body: ids in the path, parameters in the query, the idempotency key."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from chamberlain.core.errors import BodyInvalid, Fault, Malformed
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.core.time import read_time
from chamberlain.http.router import Parameter

FormFaults = list[Malformed | BodyInvalid]

# No endpoint has more than a few. A query as long as a head may be holds 30,000, whose parsing takes 20 ms.
_MOST_PARAMETERS = 100
_DIGITS = re.compile("[0-9]+")
_LINE = re.compile(r"[^\u0000-\u001f\u007f-\u009f]*")
_IDEMPOTENCY_KEY = re.compile(rb"[!-~]{1,255}")


def read_ids(texts: Mapping[str, str], faults: FormFaults) -> dict[str, UUID]:
    """The ids of a path, in either letter case and the hyphenated form only."""
    ids: dict[str, UUID] = {}
    for name, text in texts.items():
        if WRITTEN_ID.fullmatch(text):
            ids[name] = UUID(text)
        else:
            faults.append(Malformed("malformedId", f"{name} in the path must be a UUID."))
    return ids


def read_query(query_string: bytes, parameters: Sequence[Parameter], faults: FormFaults) -> dict[str, str]:
    """The parameters of a query. One that the endpoint does not know, or that comes twice, is a fault."""
    if not query_string:
        return {}
    try:
        pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        detail = f"A query may have at most {_MOST_PARAMETERS} parameters."
        faults.append(Malformed("invalidParameter", detail))
        return {}
    names = Counter(name for name, _ in pairs)
    known = {parameter.name for parameter in parameters}
    if unknown := [name for name in names if name not in known]:
        faults.append(Malformed("unknownParameter", f"There is no query parameter {_shown(unknown)} here."))
    if repeated := [name for name in known if names[name] > 1]:
        faults.append(Malformed("invalidParameter", f"Give the query parameter {_shown(repeated)} once only."))
    query = dict(pairs)
    for parameter in parameters:
        if parameter.name in query and (expected := _unmet(query[parameter.name], parameter.schema)):
            faults.append(Malformed("invalidParameter", f"The query parameter {parameter.name} is {expected}."))
    return query


def check_idempotency_key(headers: Iterable[tuple[bytes, bytes]], faults: FormFaults) -> None:
    """A key is 1 to 255 visible ASCII characters, and there is one."""
    keys = [value for name, value in headers if name == b"idempotency-key"]
    if len(keys) > 1 or not all(map(_IDEMPOTENCY_KEY.fullmatch, keys)):
        detail = "Send one Idempotency-Key, of 1 to 255 visible ASCII characters without spaces."
        faults.append(Malformed("invalidParameter", detail))


def together(faults: Sequence[Malformed | BodyInvalid]) -> Malformed | BodyInvalid:
    """One refusal that tells them all.

    Where the body has faults, those of path, query and headers stand before them in the same list, with the empty
    pointer, because they are not in the body.
    """
    if len(faults) == 1:
        return faults[0]
    if any(isinstance(fault, BodyInvalid) for fault in faults):
        are_truncated = any(isinstance(fault, BodyInvalid) and fault.are_truncated for fault in faults)
        return BodyInvalid(chain.from_iterable(map(_listed, faults)), are_truncated=are_truncated)
    return Malformed(faults[0].code, " ".join(fault.detail for fault in faults))


def _listed(fault: Malformed | BodyInvalid) -> Iterator[Fault]:
    if isinstance(fault, BodyInvalid):
        yield from fault.faults
    else:
        yield Fault("", fault.code, fault.detail)


# The values of a JSON Schema are of every type; which one stands where is the business of that standard.
def _unmet(text: str, schema: Mapping[str, Any]) -> str | None:
    """What a parameter must be, when the text is not that. Schemas of parameters are as plain as this."""
    if schema["type"] == "boolean":
        return None if text in {"true", "false"} else "true or false"
    if schema["type"] == "integer":
        least, most = schema["minimum"], schema["maximum"]
        # No text of more digits than the bound has is within it, and int() is slow with very many.
        is_within = _DIGITS.fullmatch(text) and len(text) <= len(str(most)) and least <= int(text) <= most
        return None if is_within else f"a whole number from {least} to {most}"
    if schema.get("format") == "uuid":
        return None if WRITTEN_ID.fullmatch(text) else "a UUID"
    if schema.get("format") == "date-time":
        return None if read_time(text) else "a time with its zone, such as 2026-11-20T09:30:00.000Z"
    if "maxLength" in schema:
        is_line = _LINE.fullmatch(text) and schema["minLength"] <= len(text) <= schema["maxLength"]
        return None if is_line else f"{schema['minLength']} to {schema['maxLength']} characters, none for control"
    if "enum" in schema:
        return None if text in schema["enum"] else f"one of {', '.join(schema['enum'])}"
    return None


def _shown(names: Sequence[str]) -> str:
    """A few of the names, in a form that can be read."""
    return ", ".join(re.sub(r"[^ -~]", "?", name[:64]) for name in names[:5])


LONGEST_WAIT = timedelta(seconds=30)

# One that is not ended goes to the end of the header.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"?')
_ESCAPED = re.compile(r"\\(.)")
_SECONDS = re.compile(r"[0-9]+")


def wait_of(headers: Iterable[tuple[bytes, bytes]]) -> timedelta | None:
    """How long the caller is ready to wait, at most the longest time that we let anybody wait; None when not at all."""
    # Several headers are the same as one with commas, and of a preference that comes twice the first one counts (2).
    sent = ",".join(value.decode("latin-1") for name, value in headers if name == b"prefer")
    waits = [value for name, value in map(_preference, _QUOTED.sub(_bare, sent).split(",")) if name == "wait"]
    if not waits or not _SECONDS.fullmatch(waits[0]):
        return None
    seconds = min(int(waits[0][:9]), LONGEST_WAIT // timedelta(seconds=1))
    return timedelta(seconds=seconds) if seconds else None


def _bare(quoted: re.Match[str]) -> str:
    """A number in quotes is that number; whatever else is in quotes could not be told from what stands between them."""
    inner = _ESCAPED.sub(r"\1", quoted[0][1:-1])
    return inner if quoted[0].endswith('"') and _SECONDS.fullmatch(inner) else '""'


def _preference(text: str) -> tuple[str, str]:
    name, _, value = text.partition(";")[0].partition("=")
    return name.strip().lower(), value.strip()
