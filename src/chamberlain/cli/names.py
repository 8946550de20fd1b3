"""Resolve names and addresses to ids: templates, policies, groups, sites and users."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from chamberlain.cli.calls import Service
from chamberlain.cli.errors import ExitCode
from chamberlain.cli.output import Record
from chamberlain.cli.refusals import ended
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
    """Find the id of a name in these lists, ignoring case. Ids are returned unchanged."""
    if is_id(written):
        return written
    wanted = written.casefold()
    listed = (record for operation in operations for record in service.items(operation, {}, None))
    found = [
        record
        for record in listed
        if str(record["name"]).casefold() == wanted and (not kinds or record.get("kind") in kinds)
    ]
    return _only(found, f"{noun} {written}", f"chamberlain {noun} list shows those there are.")


def id_of_managed(service: Service, written: str, operation: Operation, noun: str) -> str:
    """Find the id of a group or site by name or address, ignoring case."""
    if is_id(written):
        return written
    wanted = _comparable(written)
    is_address = "@" in written or "://" in written
    # The list filters by a prefix of the name, not by address.
    query = {} if is_address else {"q": written}
    listed = service.items(operation, query, None)
    found = [record for record in listed if wanted in map(_comparable, _called(record))]
    return _only(found, f"{noun} {written}", f"chamberlain {noun} list shows those there are.")


def user_id(service: Service, written: str) -> str:
    """Find the id of a user by mail address. Ids are returned unchanged."""
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
    """Return the names of a group or site: display name, mail address and URL."""
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
