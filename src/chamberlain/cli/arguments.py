# SPDX-License-Identifier: Apache-2.0
"""Convert files and pairs to bodies of the API."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

import msgspec

from chamberlain.cli.errors import Misused


def one_of(written: str, choices: Iterable[str], option: str) -> str:
    """Return the choice, in any case. Raises Misused for another text."""
    known = {choice.lower(): choice for choice in choices}
    if (found := known.get(written.lower())) is not None:
        return found
    near = get_close_matches(written.lower(), known, 1)
    suggestion = f" Did you mean {known[near[0]]}?" if near else ""
    listed = ", ".join(f"'{choice}'" for choice in known.values())
    raise Misused(f"{option}: '{written}' is not one of {listed}.{suggestion}")


# Above the limit of the service. A larger file is the wrong file.
_LONGEST = 1024 * 1024


def body_of(file: str | None, options: Mapping[str, object]) -> dict[str, object]:
    """Merge a file and options into a body. Options override the file."""
    given = {name: value for name, value in options.items() if value is not None and value != []}
    return {**({} if file is None else read_body(file)), **given}


def read_body(file: str) -> dict[str, object]:
    """Read a JSON object from a file.

    The file `-` is standard input.
    """
    try:
        body = msgspec.json.decode(_read(file))
    # RecursionError: nested deeper than the service accepts.
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Misused(f"--body {file} is not JSON ({error}).") from error
    if not isinstance(body, dict):
        raise Misused(f"--body {file} is no JSON object; the API takes an object of properties.")
    return body


def read_document(file: str) -> tuple[dict[str, object], str | None]:
    """Read a JSON object, and split off its ETag."""
    body = read_body(file)
    etag = body.pop("etag", None)
    return body, etag if isinstance(etag, str) else None


def metadata_of(pairs: Sequence[str]) -> dict[str, str | bool] | None:
    """Parse `key=value` pairs. `true` and `false` are booleans, as in an import."""
    booleans = {"true": True, "false": False}
    found: dict[str, str | bool] = {}
    for name, value in _pairs(pairs, "--metadata", "key=value"):
        found[name] = booleans.get(value, value)
    return found or None


def permissions_of(pairs: Sequence[str]) -> dict[str, str]:
    """Parse `user=level` pairs."""
    return dict(_pairs(pairs, "--permission", "user=level, such as ben@estate.example=FullAccess"))


def _pairs(pairs: Sequence[str], option: str, form: str) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise Misused(f"{option} {pair} is invalid. Write {form}.")
        if name in found:
            raise Misused(f"{option} names {name} twice.")
        found[name] = value
    return list(found.items())


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read(_LONGEST)
    try:
        with Path(file).open("rb") as stream:
            return stream.read(_LONGEST)
    except OSError as error:
        raise Misused(f"--body {file} cannot be read ({error.strerror}).") from error
