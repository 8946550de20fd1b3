"""Convert arguments to values of the API.

Names and addresses become ids; files and pairs become request bodies.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from uuid import UUID

import msgspec

from chamberlain.cli.calls import Service
from chamberlain.cli.errors import ExitCode, Misused, ended
from chamberlain.cli.output import Record
from chamberlain_client.errors import Forbidden
from chamberlain_client.operations import Operation, Server

# Directory operation that the SDK does not have.
_FIND_USER = Operation("findUser", "GET", "/v1.0/users", Server.GRAPH)


def is_id(written: str) -> bool:
    """Check whether the text is an id."""
    try:
        UUID(written)
    except ValueError:
        return False
    return "-" in written


def id_of_name(
    service: Service, written: str, operations: Iterable[Operation], noun: str, kinds: Sequence[str] = ()
) -> str:
    """Find the id of a name in these lists, ignoring case.

    Ids are returned unchanged.
    """
    if is_id(written):
        return written
    wanted = written.casefold()
    listed = (record for operation in operations for record in service.items(operation, {}, None))
    found = [
        record
        for record in listed
        if str(record["name"]).casefold() == wanted and (not kinds or record.get("kind") in kinds)
    ]
    return _only(found, f"{noun} {written}", f"Run chamberlain {noun} list to see all.")


def id_of_managed(service: Service, written: str, operation: Operation, noun: str) -> str:
    """Find the id of a group or site by name or address.

    Case is ignored.
    """
    if is_id(written):
        return written
    wanted = _comparable(written)
    is_address = "@" in written or "://" in written
    # The list filters by a prefix of the name, not by address.
    query = {} if is_address else {"q": written}
    listed = service.items(operation, query, None)
    found = [record for record in listed if wanted in map(_comparable, _called(record))]
    return _only(found, f"{noun} {written}", f"Run chamberlain {noun} list to see all.")


def user_id(service: Service, written: str) -> str:
    """Find the id of a user by mail address.

    Ids are returned unchanged.
    """
    if "@" not in written:
        return written
    quoted = written.replace("'", "''")
    query = {"$filter": f"mail eq '{quoted}' or userPrincipalName eq '{quoted}'", "$select": "id,displayName"}
    try:
        answer = service.read(_FIND_USER, query=query)
    except Forbidden as error:
        raise ended(
            ExitCode.NOT_ALLOWED,
            f"{written}: the directory does not let this sign-in look up users by address. Write the user's id.",
        ) from error
    value = answer.get("value")
    return _only(value if isinstance(value, list) else [], f"user {written}", "Write the user's id.")


def user_ids(service: Service, written: Iterable[str]) -> list[str]:
    """Find the ids of several users, in order."""
    return [user_id(service, each) for each in written]


def _called(record: Record) -> list[str]:
    """Return the display name, mail address and URL of an object."""
    return [str(record[member]) for member in ("displayName", "mail", "siteUrl") if record.get(member)]


def _comparable(name: str) -> str:
    return name.casefold().rstrip("/")


def _only(found: Sequence[Record], called: str, cure: str) -> str:
    if len(found) == 1:
        return str(found[0]["id"])
    if not found:
        raise ended(ExitCode.NOT_THERE, f"There is no {called}. {cure}")
    ids = ", ".join(str(each["id"]) for each in found)
    raise ended(ExitCode.FAILED, f"{called} is the name of several: {ids}. Write the id of one.")


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
