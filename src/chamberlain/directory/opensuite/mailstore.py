# SPDX-License-Identifier: Apache-2.0
"""Calls of doveadm, the administration of Dovecot, over HTTP.

One call has many commands, and an answer to each. All commands are idempotent. So a call is sent again if an idle
connection was closed meanwhile. While all connections are busy, the commands of several mailboxes wait for one call.
"""

import asyncio
from base64 import b64encode
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, cast

import httpx2
import msgspec

from chamberlain.core.errors import Cause, ConnectionBroken, Rejected, TryAgain
from chamberlain.core.reasons import Reason
from chamberlain.directory.opensuite.doveadm import (
    NO_USER,
    NOT_POSSIBLE,
    Answer,
    Command,
    MailboxState,
    get_rights,
    get_script,
    has_active_script,
    join_subscriptions,
    list_folders,
    list_scripts,
    names_several,
    parse_folder,
)

# Seconds of one call. Measured by the prototype: 962 ms for one mailbox at the 99th percentile, as packaged.
TIMEOUT_SECONDS: Final = 60.0
# Pauses of a retry: our choice. A restart of Dovecot takes 0.1 to 0.2 s (measured by the prototype).
_AWAY_FOR: Final = timedelta(seconds=5)
_BUSY_FOR: Final = timedelta(seconds=2)
_BROKEN_FOR: Final = timedelta(minutes=1)
# Mailboxes in one call: our choice. One takes about 10 ms, and the first one has its answers with the last one.
_MOST_IN_ONE: Final = 8
_PATH: Final = "/doveadm/v1"
_NAME: Final = "The doveadm interface of Dovecot"

# Exit codes of doveadm (sysexits.h): errors before a command runs, and a temporary failure.
_BAD_USAGE, _TEMPORARY, _FORBIDDEN, _UNKNOWN_COMMAND = 64, 75, 77, 78


@dataclass(frozen=True, slots=True)
class MailServer:
    """The doveadm interface of a tenant.

    `shared_prefix` begins the name of a shared mailbox as its users see it. `connections` is the number of concurrent
    calls; each has a process of Dovecot.
    """

    url: str
    key: str = field(repr=False)
    shared_prefix: str = "shared/"
    connections: int = 4


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Commands that wait for a call."""

    commands: Sequence[Command]
    answers: "asyncio.Future[Sequence[Answer]]"


class Mailstore:
    """The mailboxes of one tenant.

    Every method raises TryAgain if Dovecot does not answer, and ConnectionBroken if it refuses the key.
    """

    def __init__(self, client: httpx2.AsyncClient, server: MailServer) -> None:
        self._client = client
        self._server = server
        self._slots = asyncio.Semaphore(server.connections)
        self._waiting: deque[_Waiting] = deque()
        self._senders: set[asyncio.Task[None]] = set()
        key = b64encode(server.key.encode()).decode("ascii")
        self._headers = {"Authorization": f"X-Dovecot-API {key}", "Content-Type": "application/json"}

    async def check(self) -> None:
        """Ask for the list of commands, which every key may read."""
        await self._send("GET", None)

    async def observe(self, mailbox: str, *, has_reply: bool) -> MailboxState | None:
        """Read rights in all folders, and the script of a reply.

        None if Dovecot does not have the mailbox.
        """
        if names_several(mailbox):
            return None
        commands = [list_folders(mailbox), *([list_scripts(mailbox)] if has_reply else [])]
        listed, *scripts = await self.call(commands)
        if listed.exit_code == NO_USER:
            return None
        names = sorted(name for row in listed.rows if self._is_own(name := row.get("mailbox", "")))
        is_active = any(has_active_script(each.rows) for each in scripts)
        commands = [get_rights(mailbox, name) for name in names]
        answers = await self.call([*commands, *([get_script(mailbox)] if is_active else [])])
        folders = {
            name: parse_folder(answer.rows)
            for name, answer in zip(names, answers, strict=False)
            if answer.exit_code == 0
        }
        # The only column of the last answer is the text.
        script = next((text for row in answers[-1].rows for text in row.values()), None) if is_active else None
        return MailboxState(folders, script)

    async def call(self, commands: Sequence[Command]) -> Sequence[Answer]:
        """Run commands in their order, and raise the first error.

        Exit codes that a command ignores are no errors. The commands after an error are run as well.
        """
        if not commands:
            return []
        pattern = next((each.user for each in commands if names_several(each.user)), None)
        if pattern is not None:
            raise Rejected("notAccepted", f"The name {pattern} matches several mailboxes in Dovecot. Rename its entry.")
        waiting = _Waiting(commands, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if len(self._senders) < self._server.connections:
            self._senders.add(asyncio.create_task(self._send_waiting()))
        answers = await waiting.answers
        for command, answer in zip(commands, answers, strict=True):
            _require_success(command, answer)
        return answers

    async def _send_waiting(self) -> None:
        """Send the commands that wait, until none do."""
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(_MOST_IN_ONE, len(self._waiting)))]
            [outcome] = await asyncio.gather(self._run_all(batch), return_exceptions=True)
            for number, each in enumerate(batch):
                if each.answers.done():
                    # The caller was cancelled.
                    continue
                if isinstance(outcome, BaseException):
                    each.answers.set_exception(outcome)
                else:
                    each.answers.set_result(outcome[number])
        # In the same step as the last look, so that a later caller starts another sender.
        self._senders.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _run_all(self, batch: Sequence[_Waiting]) -> Sequence[Sequence[Answer]]:
        """Run the commands of several callers in one call.

        If one of them fails, the commands of each caller are run again alone.
        """
        if len(batch) > 1:
            commands, places = join_subscriptions([command for each in batch for command in each.commands])
            answers = await self._run(commands)
            if all(_is_success(command, answer) for command, answer in zip(commands, answers, strict=True)):
                found = iter(places)
                return [[answers[next(found)] for _ in each.commands] for each in batch]
        return [await self._run(each.commands) for each in batch]

    async def _run(self, commands: Sequence[Command]) -> Sequence[Answer]:
        body = [
            [command.name, {"user": command.user, **command.parameters}, str(number)]
            for number, command in enumerate(commands)
        ]
        return _decode_answers(await self._send("POST", msgspec.json.encode(body)), len(commands))

    async def read_file(self, path: str) -> str | None:
        """Read a file on the mail server.

        None if that is not possible.
        """
        rows = await self._files("fsGet", path)
        return None if rows is None else "".join([row.get("content", "") for row in rows])

    async def list_files(self, folder: str) -> Sequence[str] | None:
        """List the names of files in a folder there.

        None if that is not possible.
        """
        rows = await self._files("fsIter", folder)
        return None if rows is None else [row.get("path", "") for row in rows]

    async def _files(self, command: str, path: str) -> Sequence[Mapping[str, str]] | None:
        body = [[command, {"fsDriver": "posix", "fsArgs": "", "path": path}, "0"]]
        [answer] = _decode_answers(await self._send("POST", msgspec.json.encode(body)), 1)
        return answer.rows if answer.exit_code == 0 else None

    def shared_name(self, mailbox: str) -> str:
        """Return the name of a shared mailbox for its users."""
        return f"{self._server.shared_prefix}{mailbox}"

    def _is_own(self, folder: str) -> bool:
        return bool(folder) and not folder.startswith(self._server.shared_prefix)

    async def _send(self, method: str, body: bytes | None) -> bytes:
        async with self._slots:
            try:
                response = await self._request(method, body)
            except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError):
                # The server closes idle connections. The commands are idempotent.
                response = await self._retry(method, body)
            except (httpx2.HTTPError, OSError) as error:
                raise _away() from error
        if response.status_code in (401, 403):
            raise ConnectionBroken(_BROKEN_FOR, Reason.build("serverRefusesCredential", server=_NAME))
        if response.status_code != 200:
            problem = f"{_NAME} answered with the HTTP status {response.status_code}."
            raise TryAgain(_AWAY_FOR, problem, Cause.AWAY)
        return response.content

    async def _retry(self, method: str, body: bytes | None) -> httpx2.Response:
        try:
            return await self._request(method, body)
        except (httpx2.HTTPError, OSError) as error:
            raise _away() from error

    async def _request(self, method: str, body: bytes | None) -> httpx2.Response:
        return await self._client.request(
            method,
            f"{self._server.url.rstrip('/')}{_PATH}",
            content=body,
            headers=self._headers,
            timeout=TIMEOUT_SECONDS,
        )


class _Error(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    exit_code: int = 0


_decode = msgspec.json.Decoder(list[tuple[str, msgspec.Raw, str]]).decode
_decode_rows = msgspec.json.Decoder(list[dict[str, str | int | float | bool | None]]).decode
_decode_error = msgspec.json.Decoder(_Error).decode
# Errors of the interface itself (src/doveadm/client-connection-http.c).
_TYPES: Final[Mapping[str, int]] = {
    "unknownMethod": _UNKNOWN_COMMAND,
    "unAuthorized": _FORBIDDEN,
    "invalidRequest": _BAD_USAGE,
}


def _decode_answers(body: bytes, count: int) -> Sequence[Answer]:
    """Decode the answers in the order of their commands."""
    answers: dict[str, Answer] = {}
    try:
        for kind, content, tag in _decode(body):
            if kind == "doveadmResponse":
                answers[tag] = Answer(tuple([_texts(row) for row in _decode_rows(content)]))
            else:
                error = _decode_error(content)
                answers[tag] = Answer(exit_code=_TYPES.get(error.type, error.exit_code or _TEMPORARY))
        return [answers[str(number)] for number in range(count)]
    except (msgspec.DecodeError, KeyError) as error:
        # After an error of the interface itself, Dovecot 2.3 leaves out a comma.
        found = next((code for name, code in _TYPES.items() if f'"type":"{name}"'.encode() in body), None)
        if found is not None:
            return [Answer(exit_code=found)] * count
        # A killed process sends the first part of its answer only.
        raise _away() from error


def _texts(row: Mapping[str, str | int | float | bool | None]) -> Mapping[str, str]:
    return {name: "" if value is None else str(value) for name, value in row.items()}


def _is_success(command: Command, answer: Answer) -> bool:
    return answer.exit_code == 0 or answer.exit_code in command.ignored


def _require_success(command: Command, answer: Answer) -> None:
    """Raise the error of a failed command."""
    code = answer.exit_code
    if _is_success(command, answer):
        return
    if code in (_UNKNOWN_COMMAND, _FORBIDDEN):
        problem = f"the command {command.name} is not available."
        raise ConnectionBroken(_BROKEN_FOR, Reason.build("serverRefusesAccess", server=_NAME, problem=problem))
    if code == NO_USER:
        # Dovecot caches unknown users for auth_cache_negative_ttl.
        raise TryAgain(_BUSY_FOR, Reason.build("mailboxNotVisible"), Cause.NOT_YET)
    if code in (_BAD_USAGE, NOT_POSSIBLE):
        raise Rejected("notAccepted", f"Dovecot does not accept {command.name} for {command.user}.")
    problem = f"Dovecot failed at {command.name} for {command.user} (exit code {code})."
    raise TryAgain(_BUSY_FOR, problem, Cause.AWAY)


def _away() -> TryAgain:
    return TryAgain(_AWAY_FOR, Reason.build("directoryNotAvailable"), Cause.AWAY)
