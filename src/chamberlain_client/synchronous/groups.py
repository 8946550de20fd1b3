# Made by `python3 dev.py twin` from asynchronous/groups.py, which is the one to be changed.
"""Groups and teams are asked for."""

from collections.abc import Mapping
from typing import Literal, overload

import msgspec

from chamberlain_client import operations
from chamberlain_client.answers import decoded
from chamberlain_client.calls import posting
from chamberlain_client.models.groups import AcceptedGroup, NewGroup
from chamberlain_client.models.rehearsals import RehearsedGroup
from chamberlain_client.synchronous.transport import Transport


class Groups:
    """Groups and teams: the template says which."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @overload
    def create(
        self,
        group: NewGroup | Mapping[str, object],
        *,
        dry_run: Literal[False] = False,
        wait: float | None = None,
        idempotency_key: str | None = None,
    ) -> AcceptedGroup: ...

    @overload
    def create(self, group: NewGroup | Mapping[str, object], *, dry_run: Literal[True]) -> RehearsedGroup: ...

    @overload
    def create(
        self,
        group: NewGroup | Mapping[str, object],
        *,
        dry_run: bool,
        wait: float | None = None,
        idempotency_key: str | None = None,
    ) -> AcceptedGroup | RehearsedGroup: ...

    def create(
        self,
        group: NewGroup | Mapping[str, object],
        *,
        dry_run: bool = False,
        wait: float | None = None,
        idempotency_key: str | None = None,
    ) -> AcceptedGroup | RehearsedGroup:
        """Ask for a group or team; with `dry_run`, say what would come of it. `wait` is how many seconds, at most 30,
        the service may wait until it is there. Raises NotPossible, Conflict, Forbidden and any Refused."""
        call = posting(operations.CREATE_GROUP, body=group, key=idempotency_key, dry_run=dry_run, wait=wait)
        answer = self._transport.send(call)
        if dry_run:
            return decoded(answer, RehearsedGroup)
        accepted = decoded(answer, AcceptedGroup)
        return msgspec.structs.replace(accepted, retry_after=answer.retry_after, replayed=answer.replayed)
