"""The service as an import calls it: many calls at once, each of them made once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

from chamberlain.cli.calls_call import Area, Call, is_loopback
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.clocks import AsyncClock
from chamberlain_client.operations import Server
from chamberlain_client.retries import Retries

# Seconds in which an answer has to come; a service that is busy may take its time.
_TIMEOUT = 60.0
# A token is asked for anew as often; the sign-in replaces one well before it ends.
_TOKEN_KEPT = 30.0


@asynccontextmanager
async def connected(call: Call) -> AsyncIterator[AsyncTransport]:
    """The service, to which each call is made once: when to ask again is for all rows together to say."""
    token = _KeptToken(call)
    async with httpx2.AsyncClient(verify=call.tls(), trust_env=not is_loopback(call.server)) as client:
        yield AsyncTransport(
            client,
            {Server.BASE: call.server},
            {Server.BASE: token},
            timeout=_TIMEOUT,
            retries=Retries(attempts=1),
            clock=AsyncClock(),
        )


class _KeptToken:
    """The caller's token, looked up again now and then: an import may take longer than a token lives."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._token = ""
        self._until = 0.0

    def __call__(self) -> str:
        now = asyncio.get_running_loop().time()
        if now >= self._until:
            self._token, self._until = self._call.token(Area.MAIL), now + _TOKEN_KEPT
        return self._token
