"""The service as commands call it: by the SDK, with JSON as it came, so that nothing of an answer is lost.

The version that an answer names in its `ETag` is its member `etag`, so that what was read can be changed and put back.
"""

from collections.abc import Iterator, Mapping
from itertools import islice

from chamberlain.cli.output import Record
from chamberlain_client.calls import Call, QueryValue, build_change, build_get, build_post, parse_id
from chamberlain_client.errors import AnswerNotUnderstood
from chamberlain_client.operations import FIND_GROUP, Operation
from chamberlain_client.responses import decode, decode_page, item_decoder
from chamberlain_client.synchronous.transport import Transport

# As long as a page of the API may be.
_PAGE = 200


class Service:
    """Reads, lists and changes. Every method raises the errors of the SDK."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def read(self, operation: Operation, *ids: str, query: Mapping[str, QueryValue] | None = None) -> Record:
        """One thing."""
        return self._sent(build_get(operation, *ids, query=query))

    def items(self, operation: Operation, query: Mapping[str, QueryValue], most: int | None) -> Iterator[Record]:
        """The items of a list, page by page as they are needed; `most` is how many, all where it is `None`."""
        return islice(self._items(operation, query, most), most)

    def find_group(self, request_id: str, prefix: str) -> Record | None:
        """What the directory shows of a request; `None` as long as that is nothing. `prefix` is the tenant's."""
        query = {"$filter": f"{prefix}_group/requestId eq '{parse_id(request_id)}'"}
        found = self.read(FIND_GROUP, query=query)["value"]
        return found[0] if isinstance(found, list) and found else None

    def post(
        self, operation: Operation, *ids: str, body: Record, key: str | None = None, dry_run: bool = False
    ) -> Record:
        """What a POST answers."""
        return self._sent(build_post(operation, *ids, body=body, key=key, dry_run=dry_run))

    def change(
        self, operation: Operation, *ids: str, body: Record | None = None, if_match: str | None = None
    ) -> Record:
        """What a PUT, PATCH or DELETE answers; nothing is an empty object."""
        return self._sent(build_change(operation, *ids, body=body, if_match=if_match))

    def _items(self, operation: Operation, query: Mapping[str, QueryValue], most: int | None) -> Iterator[Record]:
        size = min(most or _PAGE, _PAGE)
        cursor: str | None = None
        while True:
            answer = self._transport.send(build_get(operation, query={**query, "limit": size, "cursor": cursor}))
            page = decode_page(answer, item_decoder(dict[str, object]), cursor)
            yield from map(_Members, page.items)
            cursor = page.next_cursor
            if cursor is None:
                return

    def _sent(self, call: Call) -> Record:
        answer = self._transport.send(call)
        if not answer.content:
            return _Members()
        members = _Members(decode(answer, dict[str, object]))
        etag = answer.headers.get("etag")
        return members if etag is None else _Members(members, etag=etag)


class _Members(dict[str, object]):
    """The members of an answer. Where one is missing that a command cannot do without, somebody else has answered."""

    def __missing__(self, name: str) -> object:
        raise AnswerNotUnderstood(200, f"it has no {name}")
