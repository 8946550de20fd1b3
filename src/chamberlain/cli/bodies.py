"""Bodies of calls: from a file of JSON, with what options say put over it."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from chamberlain.cli.errors import Misused

# Longer than the service takes; a file that was meant for something else is not read to its end.
_LONGEST = 1024 * 1024


def body_of(file: str | None, options: Mapping[str, object]) -> dict[str, object]:
    """The object that the file holds, and over it each option that was given; what was not given is left out."""
    given = {name: value for name, value in options.items() if value is not None and value != []}
    return {**({} if file is None else read_body(file)), **given}


def read_body(file: str) -> dict[str, object]:
    """The JSON object of a file, or of standard input where it is named `-`."""
    try:
        body = msgspec.json.decode(_read(file))
    # The last is for one that is nested deeper than anything that the service takes.
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Misused(f"--body {file} is not JSON ({error}).") from error
    if not isinstance(body, dict):
        raise Misused(f"--body {file} is no JSON object; the API takes an object of properties.")
    return body


def read_document(file: str) -> tuple[dict[str, object], str | None]:
    """The JSON object of a file, and the version that it was read as, which is no part of it."""
    body = read_body(file)
    etag = body.pop("etag", None)
    return body, etag if isinstance(etag, str) else None


def metadata_of(pairs: Sequence[str]) -> dict[str, str | bool] | None:
    """The object of `key=value` pairs; `true` and `false` are booleans, as in an import."""
    booleans = {"true": True, "false": False}
    found: dict[str, str | bool] = {}
    for name, value in _pairs(pairs, "--metadata", "key=value"):
        found[name] = booleans.get(value, value)
    return found or None


def permissions_of(pairs: Sequence[str]) -> dict[str, str]:
    """Who gets what, of `user=level` pairs."""
    return dict(_pairs(pairs, "--permission", "user=level, such as ben@estate.example=FullAccess"))


def _pairs(pairs: Sequence[str], option: str, form: str) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise Misused(f"{option} {pair} is not understood: write {form}.")
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
