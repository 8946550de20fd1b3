# SPDX-License-Identifier: Apache-2.0
"""Connect commands to the service, and print results and errors."""

import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from ipaddress import ip_address
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import httpx2

from chamberlain.cli.errors import ExitCode, Misused, ended
from chamberlain.cli.formats import Output
from chamberlain.cli.option_names import NO_OPTIONS, GivenOptions, with_options
from chamberlain.cli.output import Column, Record, say
from chamberlain.cli.sign_ins import (
    Contexts,
    ProviderUnreachable,
    SignInEnded,
    SignInFailed,
    SignIns,
    SignInsUnreadable,
)
from chamberlain_client import errors
from chamberlain_client.asynchronous.administration import AsyncEvents
from chamberlain_client.asynchronous.requests import AsyncRequests
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import Call as SdkCall
from chamberlain_client.calls import QueryValue, build_change, build_document_post, build_get, build_post, parse_id
from chamberlain_client.errors import AnswerNotUnderstood
from chamberlain_client.operations import FIND_GROUP, Operation, Server
from chamberlain_client.responses import decode, decode_page, item_decoder
from chamberlain_client.synchronous.transport import Transport
from chamberlain_client.timing import AsyncClock, Clock, Retries

if TYPE_CHECKING:
    from chamberlain.settings import Settings

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
        self,
        operation: Operation,
        *ids: str,
        body: Record,
        key: str | None = None,
        dry_run: bool = False,
        force: bool = False,
    ) -> Record:
        """Send a POST and return the response."""
        return self._sent(build_post(operation, *ids, body=body, key=key, dry_run=dry_run, force=force))

    def post_document(
        self, operation: Operation, document: Record, *, query: Mapping[str, QueryValue], key: str | None = None
    ) -> Record:
        """Send a document by POST and return the response."""
        return self._sent(build_document_post(operation, document=document, query=query, key=key))

    def change(
        self,
        operation: Operation,
        *ids: str,
        body: Record | None = None,
        if_match: str | None = None,
        dry_run: bool = False,
        force: bool = False,
    ) -> Record:
        """Send a PUT, PATCH or DELETE.

        An empty response is an empty object.
        """
        return self._sent(build_change(operation, *ids, body=body, if_match=if_match, dry_run=dry_run, force=force))

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


@contextmanager
def local_services(address: str) -> Iterator[Callable[[str], Service]]:
    """Open a client of the service on this machine.

    The block gets a function that returns the service for a token.
    """
    with httpx2.Client(trust_env=False) as client:

        def service(token: str) -> Service:
            addresses, tokens = dict.fromkeys(Server, address), dict.fromkeys(Server, lambda: token)
            return Service(Transport(client, addresses, tokens, timeout=_TIMEOUT, retries=_RETRIES, clock=Clock()))

        yield service


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

    settings: "Settings"
    sign_ins: SignIns
    context: str
    server: str
    certificates: Path | None
    output: Output
    verbose: bool = False
    # The option that selects the service, as `login` takes it.
    selected_by: str = ""

    @classmethod
    def from_options(
        cls,
        *,
        server: str | None = None,
        port: int | None = None,
        context: str | None = None,
        data_dir: Path | None = None,
        ca: Path | None = None,
        output: Output,
        verbose: bool = False,
    ) -> Self:
        """Combine options, settings and the current context. Options override the others."""
        from chamberlain.settings import SettingsInvalid, read_settings

        given = [
            (name, str(value))
            for name, value in (("--server", server), ("--port", port), ("--context", context))
            if value is not None
        ]
        if len(given) > 1:
            raise Misused(f"Name either the {given[0][0]} or the {given[1][0]}.")
        selected_by = "".join(f" {option} {quote(value)}" for option, value in given)
        named = {"server": server, "port": port, "data_dir": data_dir}
        typed = {name: value for name, value in named.items() if value is not None}
        try:
            settings = read_settings(**typed)
        except SettingsInvalid as error:
            raise ended(ExitCode.SETTINGS, with_options(str(error), typed)) from None
        sign_ins = SignIns(settings.config_dir)
        contexts = sign_ins.contexts()
        name = context if server is not None or port is not None else context or settings.context
        server = _server(settings, contexts, port) if name is None else contexts.require(name).server
        return cls(settings, sign_ins, name or contexts.name_of(server), server, ca, output, verbose, selected_by)

    @contextmanager
    def service(self, area: Area) -> Iterator[Service]:
        """Open a client of the service for an area."""
        with self.client() as client:
            tokens = dict.fromkeys(Server, lambda: self.token(area))
            tokens[Server.GRAPH] = self.directory_token
            yield Service(
                Transport(client, self.addresses(), tokens, timeout=_TIMEOUT, retries=_RETRIES, clock=Clock())
            )

    @asynccontextmanager
    async def requests(self) -> AsyncIterator[AsyncRequests]:
        """Open an asynchronous client that streams events of requests."""
        async with self.asynchronous_client() as client:
            tokens = dict.fromkeys(Server, lambda: self.token(Area.REQUESTS))
            clock = AsyncClock()
            yield AsyncRequests(
                AsyncTransport(client, self.addresses(), tokens, timeout=_TIMEOUT, retries=_PATIENT, clock=clock)
            )

    @asynccontextmanager
    async def events(self) -> AsyncIterator[AsyncEvents]:
        """Open an asynchronous client of the event feed."""
        async with self.asynchronous_client() as client:
            tokens = dict.fromkeys(Server, lambda: self.token(Area.ADMIN))
            clock = AsyncClock()
            yield AsyncEvents(
                AsyncTransport(client, self.addresses(), tokens, timeout=_TIMEOUT, retries=_PATIENT, clock=clock)
            )

    def client(self) -> httpx2.Client:
        """Return an HTTP client for the service."""
        log = CallLog(is_shown=self.verbose)
        return httpx2.Client(
            verify=self.tls(),
            trust_env=self._is_elsewhere(),
            event_hooks={"request": [log.begin], "response": [log.end, ClockWarning()]},
        )

    def asynchronous_client(self) -> httpx2.AsyncClient:
        """Return an asynchronous HTTP client for the service."""
        log = CallLog(is_shown=self.verbose)

        async def begin(request: httpx2.Request) -> None:
            log.begin(request)

        async def end(response: httpx2.Response) -> None:
            log.end(response)

        return httpx2.AsyncClient(
            verify=self.tls(), trust_env=self._is_elsewhere(), event_hooks={"request": [begin], "response": [end]}
        )

    def provider_client(self) -> httpx2.Client:
        """Return an HTTP client for the identity platform."""
        log = CallLog(is_shown=self.verbose)
        return httpx2.Client(verify=self.tls(), timeout=10, event_hooks={"request": [log.begin], "response": [log.end]})

    def token(self, area: Area) -> str:
        """Return the token of an area. Raises SignInEnded."""
        return self.settings.token.get_secret_value() if self.settings.token else self._token(area.value)

    def directory_token(self) -> str:
        """Return the token of the directory. Raises SignInEnded."""
        return self.settings.token.get_secret_value() if self.settings.token else self._token(None)

    def tls(self) -> ssl.SSLContext:
        """Trust the CAs of the system, --ca, and the local service."""
        context = ssl.create_default_context()
        saved = self.sign_ins.context(self.context)
        named = self.certificates or (Path(saved.certificates) if saved and saved.certificates else None)
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
        profile = self.sign_ins.profile(self.context)
        if profile is None:
            raise SignInEnded(f"No user is signed in at {self.server}.", advice=self._advice)
        scopes = scopes_of(profile.scopes, word)
        if scopes is None:
            raise SignInEnded(f"The sign-in at {self.server} is not for the directory: name a --scope of it.")
        # MSAL takes a quarter of the start of a command, and a token of the environment does not need it.
        from chamberlain.cli.sign_in import find_token

        try:
            return find_token(profile, scopes, self.sign_ins, self.provider_client)
        except SignInEnded as error:
            raise SignInEnded(str(error), advice=self._advice) from error

    @property
    def _advice(self) -> str:
        return f"Sign in: chamberlain login{self.selected_by or '.'}"

    def addresses(self) -> dict[Server, str]:
        """Return the addresses of all operations."""
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


class CallLog:
    """Prints each HTTP call on standard error if `is_shown`.

    It never prints headers and bodies, which hold tokens.
    """

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown

    def begin(self, request: httpx2.Request) -> None:
        """Note when a call begins."""
        request.extensions["began"] = time.monotonic()

    def end(self, response: httpx2.Response) -> None:
        """Print a call whose response begins."""
        if not self._is_shown:
            return
        request = response.request
        took = 1000 * (time.monotonic() - request.extensions["began"])
        place = f"{request.url.netloc.decode()}{request.url.raw_path.decode()}"
        traced = response.headers.get("request-id", "-")
        say(f"{request.method} {place} {response.status_code} {took:.0f} ms request-id {traced}")


def _server(settings: "Settings", contexts: Contexts, port: int | None) -> str:
    if port is not None:
        return f"http://127.0.0.1:{port}"
    if settings.server is not None:
        return settings.server
    # Port, host and base URL select the service of this machine.
    current = None if settings.model_fields_set & _HERE else contexts.contexts.get(contexts.current or "")
    return current.server if current else settings.base_url


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
    noun: str,
    for_people: Callable[[Record], Record] | None = None,
) -> None:
    """Print a list, and report when the limit cut it.

    `most` None means no limit. `noun` is the plural of the items. `for_people` changes the items of a table.
    """
    with call.service(area) as service:
        items = service.items(operation, filters, None if most is None else most + 1)
        shown = islice(items, most)
        if for_people is not None and call.output.is_table:
            call.output.show_records(map(for_people, shown), columns, noun)
        else:
            call.output.show_records(shown, columns, noun)
        if next(items, None) is not None:
            say("There are more: --limit and --all show them.")


def show_one(call: Call, area: Area, operation: Operation, *ids: str) -> None:
    """Read one resource and print it."""
    with call.service(area) as service:
        show(call, service.read(operation, *ids))


def show(call: Call, record: Record, summary: Sequence[str] = ()) -> None:
    """Print an object in the format of the options.

    A terminal gets the members of `summary` only, if it names any.
    """
    call.output.show(record, summary)


def show_report(call: Call, document: Record, *tables: tuple[Sequence[Column], Iterable[Record], str]) -> None:
    """Print a report as one document, or as its tables.

    A table is columns, rows and the plural of the rows.
    """
    if call.output.is_document:
        show(call, document)
        return
    for columns, rows, noun in tables:
        call.output.show_records(rows, columns, noun)


@contextmanager
def told_refusals(given: GivenOptions = NO_OPTIONS) -> Iterator[None]:
    """End the command for expected errors, with an exit code for scripts."""
    try:
        yield
    except errors.Refused as refused:
        raise ended(_exit_code(refused.status), *_refusal_lines(refused, given)) from refused
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
        raise ended(ExitCode.NOT_ALLOWED, f"{error} {error.advice}") from error
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


def _refusal_lines(refused: errors.Refused, given: GivenOptions) -> Iterator[str]:
    faults = [(given.place_of(fault.pointer, fault.code), fault.detail) for fault in refused.faults]
    # The fault of a conflict repeats its detail.
    repeated = next((place for place, detail in faults if detail == refused.detail and place.startswith("--")), None)
    before = "" if repeated is None else f"{repeated}: "
    yield before + (refused.detail or f"The service refused it ({refused.status} {refused.code}).")
    for place, detail in faults:
        if detail != refused.detail:
            yield f"  {place}: {detail}"
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


# As between the service and its database. The header counts whole seconds.
_MOST_DIFFERENCE = 30.0


class ClockWarning:
    """Compares the time of each answer with this machine's, and warns once."""

    def __init__(self) -> None:
        self._is_given = False

    def __call__(self, response: httpx2.Response) -> None:
        """Look at the Date header of an answer."""
        try:
            answered = parsedate_to_datetime(response.headers["date"]).timestamp()
        except (KeyError, ValueError):
            return
        difference = time.time() - answered
        if abs(difference) <= _MOST_DIFFERENCE or self._is_given:
            return
        self._is_given = True
        say(f"This machine's clock differs from the service's by {difference:.0f} seconds.")
