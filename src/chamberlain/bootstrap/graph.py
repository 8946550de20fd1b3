"""The embedded directory's HTTP surface, wired: who calls is proved as everywhere, by our verifier."""

from starlette.types import ASGIApp

from chamberlain.bearer.verify import Verifier
from chamberlain.bootstrap.databases import Databases
from chamberlain.bootstrap.directory import make_injection
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.embedded.directory.errors import Unauthorized, Unreachable
from chamberlain.embedded.directory.graph.server import Access, Authenticate, GraphServer
from chamberlain.rules.errors import Unauthenticated, Unavailable
from chamberlain.settings import Settings

# The directory is a resource of its own; this is the audience of the embedded one, which the example's clients ask for.
GRAPH_AUDIENCE = "https://graph.estate.example"


def graph_application(settings: Settings, databases: Databases, verifier: Verifier) -> ASGIApp:
    """Everything below `/v1.0`."""
    return GraphServer(
        databases.application.pool,
        graph_url=settings.graph_url,
        authenticate=_authenticate(verifier),
        now=now,
        new_request_id=new_id,
        injection=make_injection(settings),
    )


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
