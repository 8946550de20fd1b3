"""The embedded directory's HTTP surface, wired: who calls is proved as everywhere, by our verifier."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from starlette.types import ASGIApp, Scope

from chamberlain.api.whole import whole_call
from chamberlain.batching import Batcher
from chamberlain.bearer.verify import Verifier
from chamberlain.bootstrap.databases import Databases
from chamberlain.bootstrap.directory import make_injection
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import Unauthorized, Unreachable
from chamberlain.embedded.directory.graph.server import Access, Authenticate, GraphServer
from chamberlain.embedded.directory.groups import FindGroups, GroupQuery, Row, find_groups
from chamberlain.rules.errors import Unauthenticated, Unavailable
from chamberlain.settings import Settings
from chamberlain.store.database import ACQUIRED_WITHIN

# The directory is a resource of its own; this is the audience of the embedded one, which the example's clients ask for.
GRAPH_AUDIENCE = "https://graph.estate.example"
# Of groups that are asked for by a value: what twenty usual pages hold, so that many large ones do not travel together.
_MOST_ROWS = 2_100
# So many that one question which takes long holds up few others.
_MOST_TOGETHER = 64


def graph_application(settings: Settings, databases: Databases, verifier: Verifier) -> ASGIApp:
    """Everything below `/v1.0`."""
    return GraphServer(
        databases.application.pool,
        find_groups=found_together(databases.application.pool),
        graph_url=settings.graph_url,
        authenticate=_authenticate(verifier),
        now=now,
        new_request_id=new_id,
        send_whole=send_whole,
        injection=make_injection(settings),
    )


def found_together(pool: Pool, *, patience: timedelta = ACQUIRED_WITHIN) -> FindGroups:
    """Has those who look for groups at the same time answered by one call of the database. Nobody waits for longer than
    `patience`."""
    batcher = Batcher[GroupQuery, Sequence[Row]](
        partial(find_groups, pool),
        weigh=lambda wanted: wanted.most,
        owner=lambda wanted: wanted.tenant_id,
        most=_MOST_TOGETHER,
        most_weight=_MOST_ROWS,
        # A large page holds up nobody who asks for one group.
        at_once=2,
    )

    async def find(wanted: GroupQuery) -> Sequence[Row]:
        try:
            # Where the database hangs, those who have not been asked for yet are told no later than others.
            async with asyncio.timeout(patience.total_seconds()):
                return await batcher.submit(wanted)
        except Unavailable as refusal:
            raise Unreachable(refusal.detail) from refusal
        except TimeoutError as error:
            raise Unreachable("The directory's database does not answer in time.") from error

    return find


def send_whole(scope: Scope, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
    """Send an answer by the server's shorter way, if it has one. Says whether that was done."""
    whole = whole_call(scope)
    return whole is not None and whole.answer(status, headers, body)


def _authenticate(verifier: Verifier) -> Authenticate:
    beginning = f"{GRAPH_AUDIENCE}/"

    async def authenticate(authorization: str | None) -> Access:
        try:
            caller = await verifier.verify(authorization)
        except Unauthenticated as refusal:
            raise Unauthorized(refusal.detail, had_token=authorization is not None) from refusal
        except Unavailable as refusal:
            raise Unreachable(refusal.detail) from refusal
        bare = (name.removeprefix(beginning) for name in caller.permissions if name.startswith(beginning))
        return Access(caller.tenant_id, frozenset(bare), caller.user_id)

    return authenticate
