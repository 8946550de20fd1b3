# SPDX-License-Identifier: Apache-2.0
"""Calls of a Matrix homeserver as an application service (Client-Server API v3).

The administration API of Synapse is used for two things only: the last activity and the deactivation of a guest.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from chamberlain.core.errors import Cause, ConnectionBroken, Rejected, TryAgain
from chamberlain.core.reasons import Reason

Content = Mapping[str, object]

# Seconds. Synapse takes up to 2 s to create a room on a busy machine (measured by the prototype).
TIMEOUT_SECONDS: Final = 30.0
# Pauses of a retry: our choice. A restart of Synapse takes 4 to 7 s (measured by the prototype).
_AWAY_FOR: Final = timedelta(seconds=5)
_BUSY_FOR: Final = timedelta(seconds=1)
_BROKEN_FOR: Final = timedelta(minutes=1)
# Pages of one room that are read back. A person who writes more in a room of the bot is not answered.
_MOST_PAGES: Final = 10
_CLIENT: Final = "/_matrix/client/v3"
# Errors of a token that the homeserver does not accept (Client-Server API, "Common error codes").
_TOKEN_CODES: Final = frozenset({"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"})

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Homeserver:
    """The homeserver of a tenant, and its application service.

    `name` is the domain of its ids. `bot` is the local part of the user of the application service. `room_version` is
    that of new rooms.
    """

    url: str
    name: str
    token: str = field(repr=False)
    bot: str = "chamberlain"
    admin_token: str | None = field(default=None, repr=False)
    room_version: str = "11"

    def user(self, local_part: str) -> str:
        """Return the id of a user."""
        return f"@{local_part}:{self.name}"

    def alias(self, local_part: str) -> str:
        """Return an alias of a room."""
        return f"#{local_part}:{self.name}"


class MatrixRefused(Rejected):
    """The homeserver rejected a call, with HTTP status and Matrix code."""

    def __init__(self, status: int, matrix_code: str, sentence: str) -> None:
        super().__init__("notAccepted", f"The Matrix server rejected a call ({status} {matrix_code}): {sentence}")
        self.status = status
        self.matrix_code = matrix_code


class StateEvent(msgspec.Struct, frozen=True):
    """An event of the state of a room."""

    type: str
    state_key: str
    content: dict[str, object]


class RoomEvent(msgspec.Struct, frozen=True):
    """An event in the timeline of a room."""

    event_id: str
    type: str
    sender: str
    content: dict[str, object] = {}


class _Messages(msgspec.Struct, frozen=True):
    chunk: tuple[RoomEvent, ...] = ()
    end: str | None = None


class _Timeline(msgspec.Struct, frozen=True):
    events: tuple[RoomEvent, ...] = ()
    limited: bool = False
    prev_batch: str | None = None


class _Joined(msgspec.Struct, frozen=True):
    timeline: _Timeline = _Timeline()


class _Rooms(msgspec.Struct, frozen=True):
    join: dict[str, _Joined] = {}


class _Sync(msgspec.Struct, frozen=True):
    next_batch: str
    rooms: _Rooms = _Rooms()


class _Sent(msgspec.Struct, frozen=True):
    event_id: str


class _Error(msgspec.Struct, frozen=True):
    errcode: str = "M_UNKNOWN"
    error: str = "no reason given"
    retry_after_ms: int | float | None = None


class _Room(msgspec.Struct, frozen=True):
    room_id: str


class HierarchyRoom(msgspec.Struct, frozen=True):
    """A room of a space, as `hierarchy` lists it."""

    room_id: str
    name: str = ""


class _Hierarchy(msgspec.Struct, frozen=True):
    rooms: tuple[HierarchyRoom, ...]
    next_batch: str | None = None


class _Account(msgspec.Struct, frozen=True):
    last_seen_ts: int | None = None


_decode_error = msgspec.json.Decoder(_Error).decode
_NOTHING: Final = msgspec.json.Decoder(msgspec.Raw)
_CONTENT: Final = msgspec.json.Decoder(dict[str, object])
_ROOM: Final = msgspec.json.Decoder(_Room)
_STATE: Final = msgspec.json.Decoder(list[StateEvent])
_HIERARCHY: Final = msgspec.json.Decoder(_Hierarchy)
_ACCOUNT: Final = msgspec.json.Decoder(_Account)
_SYNC: Final = msgspec.json.Decoder(_Sync)
_MESSAGES: Final = msgspec.json.Decoder(_Messages)
_SENT: Final = msgspec.json.Decoder(_Sent)


def part(text: str) -> str:
    """Encode a text as one part of a path."""
    return quote(text, safe="")


class Matrix:
    """Calls a homeserver.

    Every method raises TryAgain if it does not answer or asks to slow down, ConnectionBroken if it refuses the token,
    and MatrixRefused for other errors. Calls are those of the bot, or of the user with the local part `acting_as`.
    """

    def __init__(self, client: httpx2.AsyncClient, server: Homeserver, acting_as: str | None = None) -> None:
        self.server = server
        self.user = server.user(acting_as or server.bot)
        self._client = client

    async def register(self, local_part: str) -> None:
        """Create the account of a user, unless it exists."""
        body = {"type": "m.login.application_service", "username": local_part, "inhibit_login": True}
        try:
            # Any other user may not exist yet.
            await self._call(_NOTHING, "POST", f"{_CLIENT}/register", body, as_user=self.server.user(self.server.bot))
        except MatrixRefused as refused:
            if refused.matrix_code != "M_USER_IN_USE":
                raise

    async def create_room(self, body: Content) -> str:
        """Create a room and return its id.

        It is neither atomic nor idempotent.
        """
        return (await self._call(_ROOM, "POST", f"{_CLIENT}/createRoom", body)).room_id

    async def find_alias(self, alias: str) -> str | None:
        """Return the id of the room with an alias."""
        try:
            return (await self._call(_ROOM, "GET", f"{_CLIENT}/directory/room/{part(alias)}")).room_id
        except MatrixRefused as refused:
            if refused.status == 404:
                return None
            raise

    async def put_alias(self, alias: str, room_id: str) -> None:
        """Give a room an alias, unless another room has it."""
        await self._tolerate({409}, "PUT", f"{_CLIENT}/directory/room/{part(alias)}", {"room_id": room_id})

    async def delete_alias(self, alias: str) -> None:
        """Delete an alias, unless it is gone."""
        await self._tolerate({404}, "DELETE", f"{_CLIENT}/directory/room/{part(alias)}")

    async def state(self, room_id: str) -> list[StateEvent] | None:
        """Read the state of a room.

        None if the bot is not in it.
        """
        try:
            return await self._call(_STATE, "GET", f"{_CLIENT}/rooms/{part(room_id)}/state")
        except MatrixRefused as refused:
            if refused.status in {403, 404}:
                return None
            raise

    async def put_state(self, room_id: str, event: StateEvent) -> None:
        """Set one event of the state of a room."""
        path = f"{_CLIENT}/rooms/{part(room_id)}/state/{part(event.type)}/{part(event.state_key)}"
        await self._call(_NOTHING, "PUT", path, event.content)

    async def is_in_another_space(self, room_id: str, space_id: str) -> bool:
        """Return whether the bot is in a room of another space."""
        path = f"{_CLIENT}/rooms/{part(room_id)}/state/m.space.parent/{part(space_id)}"
        try:
            # An event without servers is a removed one.
            return not (await self._call(_CONTENT, "GET", path)).get("via")
        except MatrixRefused as refused:
            if refused.status in {403, 404}:
                return refused.status == 404
            raise

    async def invite(self, room_id: str, local_part: str) -> None:
        """Invite a user. One who is in the room stays so."""
        body = {"user_id": self.server.user(local_part)}
        await self._tolerate({403}, "POST", f"{_CLIENT}/rooms/{part(room_id)}/invite", body)

    async def join(self, room_id: str, local_part: str) -> None:
        """Join a room on behalf of a user."""
        path = f"{_CLIENT}/rooms/{part(room_id)}/join"
        await self._call(_NOTHING, "POST", path, {}, as_user=self.server.user(local_part))

    async def kick(self, room_id: str, user_id: str, reason: str) -> None:
        """Remove a user, or an invitation, from a room."""
        body = {"user_id": user_id, "reason": reason}
        await self._call(_NOTHING, "POST", f"{_CLIENT}/rooms/{part(room_id)}/kick", body)

    async def leave(self, room_id: str) -> None:
        """Leave a room as the bot, unless it is not in it."""
        await self._tolerate({403, 404}, "POST", f"{_CLIENT}/rooms/{part(room_id)}/leave", {})

    async def hierarchy(self, space_id: str) -> tuple[HierarchyRoom, ...] | None:
        """List a space, and then the rooms in it in their order.

        None if there is no such space, or the bot may not see it.
        """
        found: list[HierarchyRoom] = []
        path = f"/_matrix/client/v1/rooms/{part(space_id)}/hierarchy?max_depth=1&limit=100"
        since = ""
        while True:
            try:
                page = await self._call(_HIERARCHY, "GET", f"{path}{since}")
            except MatrixRefused as refused:
                # 400: the id is none, for example one that an administrator has typed.
                if refused.status in {400, 403, 404}:
                    return None
                raise
            found += page.rooms
            if page.next_batch is None:
                return tuple(found)
            since = f"&from={part(page.next_batch)}"

    async def send(self, room_id: str, event_type: str, transaction: str, content: Content) -> str:
        """Send an event, and return its id.

        The homeserver sends an event with the same transaction id once only, for about half an hour.
        """
        path = f"{_CLIENT}/rooms/{part(room_id)}/send/{part(event_type)}/{part(transaction)}"
        return (await self._call(_SENT, "PUT", path, content)).event_id

    async def receive(
        self, types: Collection[str], since: str | None, most: int
    ) -> tuple[Mapping[str, Sequence[RoomEvent]], str]:
        """Read the events of other users in all rooms since a position.

        They are oldest first. Returns the position of later events as well. None, and a position that the homeserver
        does not know, reads the latest `most` of each room. `most` is also the size of a page.
        """
        wanted = {"types": sorted(types), "not_senders": [self.user], "limit": most}
        nothing = {"types": list[str]()}
        room = {"timeline": wanted, "state": nothing, "ephemeral": nothing, "account_data": nothing}
        filter_ = {"room": room, "presence": nothing, "account_data": nothing}
        path = f"{_CLIENT}/sync?timeout=0&filter={part(msgspec.json.encode(filter_).decode())}"
        try:
            synced = await self._call(_SYNC, "GET", path if since is None else f"{path}&since={part(since)}")
        except MatrixRefused as refused:
            if since is None or refused.status != 400:
                raise
            return await self.receive(types, None, most)
        found: dict[str, Sequence[RoomEvent]] = {}
        for room_id, joined in synced.rooms.join.items():
            line = joined.timeline
            is_cut = line.limited and since is not None and line.prev_batch is not None
            earlier = await self._read_back(room_id, wanted, str(line.prev_batch), str(since)) if is_cut else ()
            found[room_id] = [*earlier, *line.events]
        return found, synced.next_batch

    async def _read_back(
        self, room_id: str, wanted: Mapping[str, object], begin: str, until: str
    ) -> Sequence[RoomEvent]:
        """Read the events of a room between two positions."""
        found: list[RoomEvent] = []
        path = f"{_CLIENT}/rooms/{part(room_id)}/messages?dir=b&to={part(until)}&limit={wanted['limit']}"
        path += f"&filter={part(msgspec.json.encode(wanted).decode())}"
        page = _Messages(end=begin)
        for _ in range(_MOST_PAGES):
            if page.end is None:
                break
            page = await self._call(_MESSAGES, "GET", f"{path}&from={part(page.end)}")
            found += page.chunk
        return found[::-1]

    async def whoami(self) -> None:
        """Ask whether the homeserver accepts the token."""
        await self._call(_NOTHING, "GET", f"{_CLIENT}/account/whoami")

    async def last_seen(self, local_part: str) -> datetime | None:
        """Return the last activity of a user.

        None without an administrator's token, and for a user without an account.
        """
        if self.server.admin_token is None:
            return None
        path = f"/_synapse/admin/v2/users/{part(self.server.user(local_part))}"
        try:
            account = await self._call(_ACCOUNT, "GET", path, token=self.server.admin_token)
        except MatrixRefused as refused:
            if refused.status == 404:
                return None
            raise
        seen = account.last_seen_ts
        return datetime.fromtimestamp(seen / 1000, UTC) if seen else None

    async def has_account(self, local_part: str) -> bool:
        """Return whether a user has an account."""
        try:
            await self._call(_NOTHING, "GET", f"{_CLIENT}/profile/{part(self.server.user(local_part))}")
        except MatrixRefused as refused:
            return refused.status != 404
        return True

    async def deactivate(self, local_part: str) -> bool:
        """Block the sign-in of a user.

        A user without an account is skipped.

        False without an administrator's token.
        """
        if self.server.admin_token is None:
            return not await self.has_account(local_part)
        path = f"/_synapse/admin/v1/deactivate/{part(self.server.user(local_part))}"
        await self._tolerate({404}, "POST", path, {"erase": False}, token=self.server.admin_token)
        return True

    async def _tolerate(
        self,
        statuses: Collection[int],
        method: str,
        path: str,
        body: Content | None = None,
        *,
        token: str | None = None,
    ) -> None:
        try:
            await self._call(_NOTHING, method, path, body, token=token)
        except MatrixRefused as refused:
            if refused.status not in statuses:
                raise

    async def _call(
        self,
        decoder: msgspec.json.Decoder[Answer],
        method: str,
        path: str,
        body: Content | None = None,
        *,
        as_user: str | None = None,
        token: str | None = None,
    ) -> Answer:
        # The administration API has no such parameter, and belongs to another token.
        acting = "" if token is not None else f"{'&' if '?' in path else '?'}user_id={part(as_user or self.user)}"
        try:
            response = await self._client.request(
                method,
                f"{self.server.url.rstrip('/')}{path}{acting}",
                content=None if body is None else msgspec.json.encode(body),
                headers={"Authorization": f"Bearer {token or self.server.token}", "Content-Type": "application/json"},
            )
        except (httpx2.HTTPError, OSError) as error:
            raise TryAgain(_AWAY_FOR, Reason.build("directoryNotAvailable"), Cause.AWAY) from error
        if response.status_code != 200:
            raise _failure(response)
        try:
            return decoder.decode(response.content)
        except msgspec.MsgspecError as error:
            raise TryAgain(_AWAY_FOR, "The Matrix server sends an unreadable answer.", Cause.AWAY) from error


def _failure(response: httpx2.Response) -> Exception:
    """Convert an answer that is no success."""
    try:
        error = _decode_error(response.content)
    except msgspec.MsgspecError:
        error = _Error()
    if response.status_code == 429:
        after = timedelta(milliseconds=error.retry_after_ms) if error.retry_after_ms else _BUSY_FOR
        return TryAgain(after, Reason.build("directoryBusy"), Cause.BUSY)
    if response.status_code >= 500:
        return TryAgain(_AWAY_FOR, Reason.build("directoryNotAvailable"), Cause.AWAY)
    if error.errcode in _TOKEN_CODES or response.status_code == 401:
        reason = Reason.build("serverRefusesCredential", server="The Matrix server")
        return ConnectionBroken(_BROKEN_FOR, reason)
    return MatrixRefused(response.status_code, error.errcode, error.error)
