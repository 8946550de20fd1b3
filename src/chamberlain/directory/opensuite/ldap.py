# SPDX-License-Identifier: Apache-2.0
"""asyncio client of an LDAP server, on python-ldap.

One connection has many outstanding operations. The event loop reads its socket, and a thread opens it, because libldap
connects, negotiates TLS and binds in blocking calls.

Errors of the server are of two kinds. Temporary ones are TryAgain, or ConnectionBroken if an administrator has to
repair something. All others are Refused, which is Rejected with the result code of LDAP.
"""

import asyncio
import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import IntEnum
from typing import Any, Final, cast

from chamberlain.core.errors import Cause, ConnectionBroken, Rejected, TryAgain
from chamberlain.core.reasons import Reason
from chamberlain.directory.opensuite.python_ldap import Control, Handle, Library, RawControl, RawRow
from chamberlain.directory.opensuite.tls import certificate_problem, system_authorities

# Time until a retry while the server does not answer, and while it is busy. Our choice: slapd restarts within a second.
RETRY_AWAY: Final = timedelta(seconds=5)
RETRY_BUSY: Final = timedelta(seconds=2)
# Time until a broken connection is tried again.
RETRY_BROKEN: Final = timedelta(minutes=1)

# Outstanding operations of one connection. Their requests fit into the send buffer of a socket, so that sending never
# blocks the event loop.
MOST_OUTSTANDING: Final = 200
# Messages that one turn of the event loop reads. A search of a hundred thousand entries must not stop the other tasks.
_MOST_PER_TURN: Final = 200

# Seconds until result4 raises TIMEOUT because nothing has arrived. libldap counts whole milliseconds, so it does not
# wait. With 0, python-ldap returns None instead of rows, and fails to decode their controls.
_NO_WAIT: Final = 1e-6

# Response controls that stay encoded: those of LDAP Sync (RFC 4533), one for each entry. `changes` decodes them.
SYNC_STATE: Final = "1.3.6.1.4.1.4203.1.9.1.2"
SYNC_DONE: Final = "1.3.6.1.4.1.4203.1.9.1.3"
_RAW_CONTROLS: Final = (SYNC_STATE, SYNC_DONE)

# Seconds until the first probe of an idle connection, between probes, and their number. Firewalls drop idle
# connections silently.
_KEEPALIVE: Final = (60, 10, 3)


class Scope(IntEnum):
    """Scope of a search (RFC 4511, 4.5.1.2)."""

    BASE = 0
    ONE_LEVEL = 1
    SUBTREE = 2


class Operation(IntEnum):
    """Operation of a change (RFC 4511, 4.6)."""

    ADD = 0
    DELETE = 1
    REPLACE = 2


class Result(IntEnum):
    """Result codes that the adapter distinguishes.

    They are of RFC 4511, appendix A, and RFC 4528. Negative ones are of libldap.
    """

    SERVER_DOWN = -1
    TIMEOUT = -5
    CONNECT_ERROR = -11
    PROTOCOL_ERROR = 2
    TIME_LIMIT_EXCEEDED = 3
    STRONGER_AUTH_REQUIRED = 8
    ADMIN_LIMIT_EXCEEDED = 11
    UNAVAILABLE_CRITICAL_EXTENSION = 12
    CONFIDENTIALITY_REQUIRED = 13
    NO_SUCH_ATTRIBUTE = 16
    CONSTRAINT_VIOLATION = 19
    ATTRIBUTE_OR_VALUE_EXISTS = 20
    INVALID_ATTRIBUTE_SYNTAX = 21
    NO_SUCH_OBJECT = 32
    INAPPROPRIATE_AUTHENTICATION = 48
    INVALID_CREDENTIALS = 49
    INSUFFICIENT_ACCESS = 50
    BUSY = 51
    UNAVAILABLE = 52
    UNWILLING_TO_PERFORM = 53
    OBJECT_CLASS_VIOLATION = 65
    ALREADY_EXISTS = 68
    OTHER = 80
    ASSERTION_FAILED = 122
    SYNC_REFRESH_REQUIRED = 4096


# An internal error of the server, such as a full disk, is not the fault of a request.
_AWAY: Final = frozenset({Result.SERVER_DOWN, Result.TIMEOUT, Result.CONNECT_ERROR, Result.UNAVAILABLE, Result.OTHER})
_BUSY: Final = frozenset({Result.BUSY, Result.TIME_LIMIT_EXCEEDED, Result.ADMIN_LIMIT_EXCEEDED})
_CREDENTIAL: Final = frozenset({Result.INAPPROPRIATE_AUTHENTICATION, Result.INVALID_CREDENTIALS})
_ENCRYPTION: Final = frozenset({Result.STRONGER_AUTH_REQUIRED, Result.CONFIDENTIALITY_REQUIRED})
# The name of the server in reasons.
_NAME: Final = "The LDAP server"


class Refused(Rejected):
    """The server rejected an operation; `result` is the result code of LDAP."""

    def __init__(self, result: int, detail: str) -> None:
        super().__init__("directoryRejected", f"The LDAP server rejected an operation (result {result}): {detail}")
        self.result = result


# A change of an attribute. Values None removes it as a whole.
Changes = Sequence[tuple[Operation, str, Sequence[bytes] | None]]


@dataclass(frozen=True, slots=True)
class Server:
    """An LDAP server and the credential of the service there.

    `url` begins with ldaps:// or ldap://; the latter with `starts_tls` negotiates TLS on the same port. `authorities`
    is the file of its certificate authority, None for those of the system. `timeout` limits one operation.
    """

    url: str
    bind_dn: str
    password: str = field(repr=False)
    starts_tls: bool = False
    authorities: str | None = None
    timeout: timedelta = timedelta(seconds=30)

    @property
    def is_encrypted(self) -> bool:
        """Return whether the connection uses TLS."""
        return self.starts_tls or self.url.lower().startswith("ldaps://")


@dataclass(frozen=True, slots=True)
class Row:
    """An entry of a search result, with its controls."""

    dn: str
    values: Mapping[str, Sequence[bytes]]
    controls: tuple[Control, ...]


@dataclass(slots=True)
class Response:
    """Rows, intermediate messages by their name, and the controls of the result."""

    rows: list[Row] = field(default_factory=list)
    messages: list[tuple[str, bytes]] = field(default_factory=list)
    controls: tuple[Control, ...] = ()


class Client:
    """Client of one server for one tenant.

    The connection is opened by the first operation, and again after it was lost, but not after `close`. An instance
    belongs to one event loop.
    """

    def __init__(self, server: Server, *, load: Callable[[str], Any] = importlib.import_module) -> None:
        self._server = server
        self._load = load
        self._session: _Session | None = None
        # All operations that wait for a connection share one attempt: each takes up to the timeout.
        self._opening: asyncio.Task[_Session] | None = None
        self._is_closed = False
        self._slots = asyncio.Semaphore(MOST_OUTSTANDING)
        # slapd has one paged search per connection.
        self.paging = asyncio.Lock()

    async def search(
        self,
        base: str,
        scope: Scope,
        filter_: str,
        attributes: Sequence[str],
        *,
        controls: Sequence[Control] = (),
    ) -> Response:
        """Search; without an attribute the server returns all that are not operational."""
        wanted, listed = list(attributes) or None, _listed(controls)
        return await self._run(
            lambda handle: handle.search_ext(base, scope, filterstr=filter_, attrlist=wanted, serverctrls=listed)
        )

    async def add(
        self, dn: str, values: Mapping[str, Sequence[bytes]], *, controls: Sequence[Control] = ()
    ) -> Response:
        """Add an entry with all its values in one operation."""
        listed = [(name, list(each)) for name, each in values.items() if each]
        return await self._run(lambda handle: handle.add_ext(dn, listed, _listed(controls)))

    async def modify(self, dn: str, changes: Changes, *, controls: Sequence[Control] = ()) -> Response:
        """Change an entry; all changes are applied, or none.

        Values None removes the whole attribute.
        """
        listed = [(int(kind), name, None if values is None else list(values)) for kind, name, values in changes]
        return await self._run(lambda handle: handle.modify_ext(dn, listed, _listed(controls)))

    async def delete(self, dn: str) -> Response:
        """Delete an entry."""
        return await self._run(lambda handle: handle.delete_ext(dn, None))

    async def close(self) -> None:
        """Close the connection. Outstanding operations fail with TryAgain."""
        self._is_closed = True
        if self._opening is not None:
            # Its thread cannot be interrupted.
            await asyncio.wait([self._opening])
        if self._session is not None:
            self._session.end(_away())

    def make_control(self, module: str, name: str, **values: Any) -> Control:  # noqa: ANN401 - arguments of a library.
        """Make a control of python-ldap by its module and class."""
        return cast("Control", getattr(self._import(module), name)(**values))

    async def _run(self, send: Callable[[Handle], int]) -> Response:
        async with self._slots:
            session = await self._opened()
            return await session.run(send, self._server.timeout.total_seconds())

    async def _opened(self) -> "_Session":
        if self._session is not None:
            self._session.look()
            if not self._session.is_over:
                return self._session
        if self._is_closed:
            raise _away()
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(self._end_opening)
        return await asyncio.shield(self._opening)

    def _end_opening(self, opening: "asyncio.Task[_Session]") -> None:
        self._opening = None
        # Retrieves its fault, which no operation may wait for any more.
        if not opening.cancelled() and opening.exception() is None:
            self._session = opening.result()

    async def _open(self) -> "_Session":
        library = cast("Library", self._import("ldap"))
        # Registers the class of a response control.
        self._import("ldap.controls.readentry")
        known = cast("Mapping[str, type]", self._import("ldap.controls").KNOWN_RESPONSE_CONTROLS)
        try:
            with _translated(library):
                handle = await asyncio.to_thread(_connect, library, self._server)
        except TryAgain as fault:
            if self._server.is_encrypted and not isinstance(fault, ConnectionBroken):
                await self._check_certificate()
            raise
        return _Session(library, handle, {**known, **dict.fromkeys(_RAW_CONTROLS, RawControl)})

    async def _check_certificate(self) -> None:
        """Raise ConnectionBroken if the certificate of the server is refused."""
        problem = await asyncio.to_thread(certificate_problem, self._server.url, self._server.authorities)
        if problem is not None:
            raise _broken("connectionBroken", problem=problem)

    def _import(self, name: str) -> Any:  # noqa: ANN401 - a library without types.
        try:
            return self._load(name)
        except ImportError as error:
            raise _broken("suiteExtraMissing") from error


@dataclass(slots=True)
class _Outstanding:
    future: "asyncio.Future[Response]"
    response: Response = field(default_factory=Response)


class _Session:
    """A bound connection, and the operations that wait for its messages."""

    def __init__(self, library: Library, handle: Handle, control_classes: Mapping[str, type]) -> None:
        self._library = library
        self._handle = handle
        self._control_classes = control_classes
        self._outstanding: dict[int, _Outstanding] = {}
        self._loop = asyncio.get_running_loop()
        # A duplicate, because libldap closes its own descriptor of a lost connection while the loop still watches it.
        self._descriptor = os.dup(handle.fileno())
        self._last_read = self._loop.time()
        self.is_over = False
        self._loop.add_reader(self._descriptor, self._read)

    async def run(self, send: Callable[[Handle], int], seconds: float) -> Response:
        started = self._loop.time()
        if self.is_over:
            raise _away()
        try:
            with _translated(self._library):
                message_id = send(self._handle)
        except TryAgain as fault:
            self.end(fault)
            raise
        outstanding = _Outstanding(self._loop.create_future())
        self._outstanding[message_id] = outstanding
        # libldap may have read the response already, while it sent.
        self._loop.call_soon(self._read)
        try:
            async with asyncio.timeout(seconds):
                return await outstanding.future
        except TimeoutError:
            if self._last_read < started:
                self.end(_away())
            raise _away() from None
        finally:
            if self._outstanding.pop(message_id, None) is not None and not self.is_over:
                self._abandon(message_id)

    def look(self) -> None:
        """Notice that the server closed an idle connection."""
        if not self._outstanding:
            self._read()

    def end(self, fault: TryAgain) -> None:
        """Close the connection, and fail all outstanding operations."""
        if self.is_over:
            return
        self.is_over = True
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        for each in self._outstanding.values():
            if not each.future.done():
                each.future.set_exception(fault)
        self._outstanding.clear()
        # The server may be gone, so a failure to say goodbye means nothing.
        try:
            self._handle.unbind_s()
        except self._library.LDAPError:
            return

    def _abandon(self, message_id: int) -> None:
        try:
            self._handle.abandon(message_id)
        except self._library.LDAPError:
            self.end(_away())

    def _read(self) -> None:
        """Take the messages that have arrived."""
        for _ in range(_MOST_PER_TURN):
            if self.is_over or not self._read_one():
                return
        self._loop.call_soon(self._read)

    def _read_one(self) -> bool:
        library = self._library
        try:
            # One message at a time, of any operation.
            kind, rows, message_id, controls, _, _ = self._handle.result4(
                library.RES_ANY,
                all=0,
                timeout=_NO_WAIT,
                add_ctrls=1,
                add_intermediates=1,
                resp_ctrl_classes=self._control_classes,
            )
        except library.TIMEOUT:
            return False
        except library.LDAPError as error:
            return self._fail(error)
        self._last_read = self._loop.time()
        outstanding = self._outstanding.get(message_id)
        if outstanding is not None:
            self._keep(outstanding, kind, rows, message_id, controls)
        return True

    def _keep(
        self, outstanding: _Outstanding, kind: int, rows: list[RawRow], message_id: int, controls: list[Control]
    ) -> None:
        response, library = outstanding.response, self._library
        if kind == library.RES_SEARCH_ENTRY:
            response.rows.extend([Row(dn, values, tuple(found)) for dn, values, found in rows if dn is not None])
        elif kind == library.RES_INTERMEDIATE:
            response.messages.extend([(name, value) for name, value, _ in rows if name is not None])
        elif kind != library.RES_SEARCH_REFERENCE:
            response.controls = tuple(controls)
            del self._outstanding[message_id]
            if not outstanding.future.done():
                outstanding.future.set_result(response)

    def _fail(self, error: Exception) -> bool:
        """Fail one operation, or all of them."""
        message_id = _details(error).get("msgid")
        if not isinstance(message_id, int) or message_id <= 0:
            fault = _fault_of(error)
            self.end(fault if isinstance(fault, TryAgain) else _away())
            return False
        self._last_read = self._loop.time()
        outstanding = self._outstanding.pop(message_id, None)
        if outstanding is not None and not outstanding.future.done():
            outstanding.future.set_exception(_fault_of(error))
        return True


def _connect(library: Library, server: Server) -> Handle:
    """Connect, negotiate TLS and bind. Blocks; runs in a thread."""
    handle = library.initialize(server.url)
    seconds = server.timeout.total_seconds()
    handle.set_option(library.OPT_REFERRALS, 0)
    handle.set_option(library.OPT_NETWORK_TIMEOUT, seconds)
    handle.set_option(library.OPT_TIMEOUT, seconds)
    idle, interval, probes = _KEEPALIVE
    handle.set_option(library.OPT_X_KEEPALIVE_IDLE, idle)
    handle.set_option(library.OPT_X_KEEPALIVE_INTERVAL, interval)
    handle.set_option(library.OPT_X_KEEPALIVE_PROBES, probes)
    if server.is_encrypted:
        # The option of the library has the authorities of ldap.conf. A context of its own does not inherit them.
        authorities = server.authorities or library.get_option(library.OPT_X_TLS_CACERTFILE) or system_authorities()
        if authorities is not None:
            handle.set_option(library.OPT_X_TLS_CACERTFILE, authorities)
        handle.set_option(library.OPT_X_TLS_REQUIRE_CERT, library.OPT_X_TLS_DEMAND)
        try:
            # Applies the options above; it has to be the last one.
            handle.set_option(library.OPT_X_TLS_NEWCTX, 0)
        except ValueError as error:
            problem = f"Cannot read the certificate authorities: {authorities}"
            raise _broken("connectionBroken", problem=problem) from error
    if server.starts_tls:
        try:
            handle.start_tls_s()
        except library.PROTOCOL_ERROR as error:
            # The result of a server that does not know StartTLS (RFC 4511, 4.14.2).
            problem = "The LDAP server offers no TLS. Set up TLS there, or set ldap.start_tls = false."
            raise _broken("suiteSettingsUnusable", problem=problem) from error
    handle.simple_bind_s(server.bind_dn, server.password)
    return handle


@contextmanager
def _translated(library: Library) -> Iterator[None]:
    try:
        yield
    except library.LDAPError as error:
        raise _fault_of(error) from error


def _fault_of(error: Exception) -> TryAgain | Refused:
    """Map an error of python-ldap."""
    details = _details(error)
    result = details.get("result", getattr(error, "errnum", Result.OTHER))
    code = result if isinstance(result, int) else int(Result.OTHER)
    words = [str(details[name]) for name in ("desc", "info") if details.get(name)]
    said = ". ".join(words) or type(error).__name__
    if code in _AWAY:
        return _away()
    if code in _BUSY:
        return TryAgain(RETRY_BUSY, Reason.build("directoryBusy"), Cause.BUSY)
    if code in _CREDENTIAL:
        return _broken("serverRefusesCredential", server=_NAME)
    if code in _ENCRYPTION:
        return _broken("serverRefusesAccess", server=_NAME, problem=f"{said}.")
    if code == Result.INSUFFICIENT_ACCESS:
        # Access differs between entries, so other requests continue. This one waits for the administrator.
        because = Reason.build("serverRefusesAccess", server=_NAME, problem=f"{said}.")
        return TryAgain(RETRY_BROKEN, because, Cause.AWAY)
    return Refused(code, said)


def _details(error: Exception) -> Mapping[str, object]:
    """Return the details of an error, which is its first argument."""
    first = error.args[0] if error.args else None
    return cast("Mapping[str, object]", first) if isinstance(first, dict) else {}


def _away() -> TryAgain:
    return TryAgain(RETRY_AWAY, Reason.build("directoryNotAvailable"), Cause.AWAY)


def _broken(code: str, /, **values: str) -> ConnectionBroken:
    return ConnectionBroken(RETRY_BROKEN, Reason.build(code, **values))


def _listed(controls: Sequence[Control]) -> list[Control] | None:
    return list(controls) or None
