"""Connect commands to the service, and print results and errors."""

import ssl
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address
from itertools import islice
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import httpx2

from chamberlain.cli.errors import ExitCode, Misused, ended
from chamberlain.cli.output import Column, Record, say, show_json, show_record, show_table
from chamberlain.cli.sign_in import ClockWarning, ProviderUnreachable, SignInEnded, SignInFailed, find_token
from chamberlain.cli.sign_ins import SignIns, SignInsUnreadable
from chamberlain.settings import Settings, SettingsInvalid, read_settings
from chamberlain_client import errors
from chamberlain_client.asynchronous.requests import AsyncRequests
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import Call as SdkCall
from chamberlain_client.calls import QueryValue, build_change, build_get, build_post, parse_id
from chamberlain_client.errors import AnswerNotUnderstood
from chamberlain_client.operations import FIND_GROUP, Operation, Server
from chamberlain_client.responses import decode, decode_page, item_decoder
from chamberlain_client.synchronous.transport import Transport
from chamberlain_client.timing import AsyncClock, Clock, Retries

# Maximum page size of the API.
_PAGE = 200


class Service:
    """Reads, lists and changes. Every method raises the errors of the SDK."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def read(self, operation: Operation, *ids: str, query: Mapping[str, QueryValue] | None = None) -> Record:
        """Read one resource."""
        return self._sent(build_get(operation, *ids, query=query))

    def items(self, operation: Operation, query: Mapping[str, QueryValue], most: int | None) -> Iterator[Record]:
        """Iterate over a list and paginate on demand.

        It ends after `most` items; None means no limit.
        """
        return islice(self._items(operation, query, most), most)

    def find_group(self, request_id: str, prefix: str) -> Record | None:
        """Find the group of a request in the directory.

        `prefix` is the extension prefix.
        """
        query = {"$filter": f"{prefix}_group/requestId eq '{parse_id(request_id)}'"}
        found = self.read(FIND_GROUP, query=query)["value"]
        return found[0] if isinstance(found, list) and found else None

    def post(
        self, operation: Operation, *ids: str, body: Record, key: str | None = None, dry_run: bool = False
    ) -> Record:
        """Send a POST and return the response."""
        return self._sent(build_post(operation, *ids, body=body, key=key, dry_run=dry_run))

    def change(
        self, operation: Operation, *ids: str, body: Record | None = None, if_match: str | None = None
    ) -> Record:
        """Send a PUT, PATCH or DELETE.

        An empty response is an empty object.
        """
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

    def _sent(self, call: SdkCall) -> Record:
        answer = self._transport.send(call)
        if not answer.content:
            return _Members()
        members = _Members(decode(answer, dict[str, object]))
        etag = answer.headers.get("etag")
        return members if etag is None else _Members(members, etag=etag)


class _Members(dict[str, object]):
    """Members of a response. A missing one means that another server answered."""

    def __missing__(self, name: str) -> object:
        raise AnswerNotUnderstood(200, f"it has no {name}")


# Few retries, because a person waits for the command.
_RETRIES = Retries(attempts=3, within=20)
# Retries of `watch`. They last longer than a restart of the service.
_PATIENT = Retries(attempts=7, within=60)
# Timeout of a call, in seconds.
_TIMEOUT = 30.0
# Settings that select the service of this machine.
_HERE = {"host", "port", "base_url"}


class Area(Enum):
    """Area of a call.

    A platform can define each as a resource with its own token.
    """

    MAIL = "mail/"
    COLLAB = "collab/"
    ADMIN = "admin/"
    REQUESTS = ""


@dataclass(frozen=True, slots=True)
class Call:
    """Connection settings of a command, and its output format."""

    settings: Settings
    sign_ins: SignIns
    server: str
    certificates: Path | None
    as_json: bool

    @classmethod
    def from_options(
        cls, *, server: str | None, port: int | None, data_dir: Path | None, ca: Path | None, as_json: bool
    ) -> Self:
        """Combine options and settings. Options override settings."""
        if server is not None and port is not None:
            raise Misused("Name either the --server or the --port.")
        named = {"server": server, "port": port, "data_dir": data_dir}
        try:
            settings = read_settings(**{name: value for name, value in named.items() if value is not None})
        except SettingsInvalid as error:
            raise ended(ExitCode.SETTINGS, str(error)) from None
        sign_ins = SignIns(settings.config_dir)
        return cls(settings, sign_ins, _server(settings, sign_ins, port), ca, as_json)

    @contextmanager
    def service(self, area: Area) -> Iterator[Service]:
        """Open a client of the service for an area."""
        with httpx2.Client(
            verify=self.tls(), trust_env=self._is_elsewhere(), event_hooks={"response": [ClockWarning()]}
        ) as client:
            tokens = dict.fromkeys(Server, lambda: self.token(area))
            tokens[Server.GRAPH] = self.directory_token
            yield Service(
                Transport(client, self._addresses(), tokens, timeout=_TIMEOUT, retries=_RETRIES, clock=Clock())
            )

    @asynccontextmanager
    async def requests(self) -> AsyncIterator[AsyncRequests]:
        """Open an asynchronous client that streams events of requests."""
        async with httpx2.AsyncClient(verify=self.tls(), trust_env=self._is_elsewhere()) as client:
            tokens = dict.fromkeys(Server, lambda: self.token(Area.REQUESTS))
            clock = AsyncClock()
            yield AsyncRequests(
                AsyncTransport(client, self._addresses(), tokens, timeout=_TIMEOUT, retries=_PATIENT, clock=clock)
            )

    def token(self, area: Area) -> str:
        """Return the token of an area. Raises SignInEnded."""
        return self.settings.token.get_secret_value() if self.settings.token else self._token(area.value)

    def directory_token(self) -> str:
        """Return the token of the directory. Raises SignInEnded."""
        return self.settings.token.get_secret_value() if self.settings.token else self._token(None)

    def tls(self) -> ssl.SSLContext:
        """Trust the CAs of the system, --ca, and the local service."""
        context = ssl.create_default_context()
        profile = self.sign_ins.profile(self.server)
        named = self.certificates or (Path(profile.certificates) if profile and profile.certificates else None)
        if named is not None:
            try:
                context.load_verify_locations(cafile=named)
            except OSError as error:  # An ssl.SSLError is one too.
                raise Misused(f"--ca {named} cannot be used ({error.strerror or error}).") from error
        else:
            # Without a readable file there is no local service to trust.
            with suppress(OSError):
                context.load_verify_locations(cafile=self.settings.data_dir / "ca.pem")
        return context

    def _token(self, word: str | None) -> str:
        profile = self.sign_ins.profile(self.server)
        if profile is None:
            raise SignInEnded(f"No user is signed in at {self.server}.")
        scopes = scopes_of(profile.scopes, word)
        if scopes is None:
            raise SignInEnded(f"The sign-in at {self.server} is not for the directory: name a --scope of it.")
        return find_token(profile, scopes, self.sign_ins, self.tls)

    def _addresses(self) -> dict[Server, str]:
        # The settings name the other addresses of one service. Another one gets all calls where it is: each address
        # serves every path, and a token is not to go elsewhere.
        insiders = self.settings.insiders_base_url if self.server == self.settings.base_url else self.server
        is_named = "graph_url" in self.settings.model_fields_set
        graph = self.settings.graph_url if is_named else f"{self.server}/graph"
        return {Server.BASE: self.server, Server.INSIDERS: insiders, Server.GRAPH: graph}

    def _is_elsewhere(self) -> bool:
        # Ignore proxies of the environment for the local service.
        return not is_loopback(self.server)


def is_loopback(server: str) -> bool:
    """Check whether an address is a loopback address."""
    host = urlsplit(server).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def scopes_of(groups: Sequence[tuple[str, ...]], word: str | None) -> tuple[str, ...] | None:
    """Select the scopes of an area.

    Without a word, they are those of another API.
    """
    if word is None:
        return next((group for group in groups if not any(_is_ours(scope) for scope in group)), None)
    return next((group for group in groups if any(f"/{word}" in f"/{scope}" for scope in group)), groups[0])


def _server(settings: Settings, sign_ins: SignIns, port: int | None) -> str:
    if port is not None:
        return f"http://127.0.0.1:{port}"
    if settings.server is not None:
        return settings.server
    # Port, host and base URL select the service of this machine.
    last = None if settings.model_fields_set & _HERE else sign_ins.last_server()
    return last or settings.base_url


def _is_ours(scope: str) -> bool:
    return any(f"/{area.value}" in f"/{scope}" for area in Area if area.value)


def show_list(
    call: Call,
    area: Area,
    operation: Operation,
    *,
    filters: Mapping[str, QueryValue],
    columns: Sequence[Column],
    most: int | None,
) -> None:
    """Print a list, and report when the limit cut it.

    `most` None means no limit.
    """
    with call.service(area) as service:
        items = service.items(operation, filters, None if most is None else most + 1)
        show_records(call, islice(items, most), columns)
        if next(items, None) is not None:
            say("There are more: --limit and --all show them.")


def show_records(call: Call, records: Iterable[Record], columns: Sequence[Column]) -> None:
    """Print records as a table or as JSON lines."""
    if call.as_json:
        for record in records:
            show_json(record)
    else:
        show_table(columns, records)


def show_one(call: Call, area: Area, operation: Operation, *ids: str) -> None:
    """Read one resource and print it."""
    with call.service(area) as service:
        show(call, service.read(operation, *ids))


def show(call: Call, record: Record) -> None:
    """Print an object as JSON, or one line per member."""
    (show_json if call.as_json else show_record)(record)


_SIGN_IN = "Sign in: chamberlain login."


@contextmanager
def told_refusals() -> Iterator[None]:
    """End the command for expected errors, with an exit code for scripts."""
    try:
        yield
    except errors.Refused as refused:
        raise ended(_exit_code(refused.status), *_refusal_lines(refused)) from refused
    except errors.Unreachable as error:
        advice = [
            "It was sent, and may have been carried out. To send it again with the same --idempotency-key is safe."
        ]
        raise ended(ExitCode.UNREACHABLE, str(error), *(advice if error.was_sent else [])) from error
    except (errors.AnswerNotUnderstood, ProviderUnreachable) as error:
        raise ended(ExitCode.UNREACHABLE, str(error)) from error
    except errors.NotYet as error:
        raise ended(ExitCode.NOT_FINISHED, str(error)) from error
    except SignInEnded as error:
        raise ended(ExitCode.NOT_ALLOWED, f"{error} {_SIGN_IN}") from error
    except SignInFailed as error:
        raise ended(ExitCode.NOT_ALLOWED, str(error)) from error
    except (Misused, errors.NotAnId) as error:
        raise ended(ExitCode.MISUSED, str(error)) from error
    except (SignInsUnreadable, errors.ChamberlainError) as error:
        raise ended(ExitCode.FAILED, str(error)) from error


def _exit_code(status: int) -> ExitCode:
    match status:
        case 401 | 403:
            return ExitCode.NOT_ALLOWED
        case 404:
            return ExitCode.NOT_THERE
        case 429 | 503:
            return ExitCode.UNREACHABLE
        case _:
            return ExitCode.FAILED


def _refusal_lines(refused: errors.Refused) -> Iterator[str]:
    yield refused.detail or f"The service refused it ({refused.status} {refused.code})."
    for fault in refused.faults:
        yield f"  {fault.pointer or '/'}: {fault.detail}"
    if refused.faults_are_truncated:
        yield "  There are more errors."
    if refused.conflicting_id is not None:
        yield f"It conflicts with {refused.conflicting_id}."
    if refused.status == 401:
        # The saved token has not expired, so `login` alone would keep it.
        yield "Sign in again: chamberlain login --again."
    if refused.retry_after is not None:
        yield f"It is worth trying again after {refused.retry_after:.0f} s."
    yield f"code {refused.code}" if refused.trace_id is None else f"code {refused.code}, traceId {refused.trace_id}"
