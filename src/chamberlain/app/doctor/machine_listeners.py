"""The addresses that the service listens on: whether it answers there, somebody else does, or nobody."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from chamberlain.app.listeners import PortTaken, bind
from chamberlain.core.checkups import Checkup, faulty, well
from chamberlain.settings import Settings

# Asks the service at an address for its failed checks, one sentence each. None when no service of this kind answers.
AskService = Callable[[str], Awaitable[Sequence[str] | None]]


@dataclass(frozen=True, slots=True)
class Listeners:
    """What was seen, and whether it is a service like ours that answers."""

    checkups: tuple[Checkup, ...]
    are_ours: bool


async def look_at_listeners(settings: Settings, ask: AskService) -> Listeners:
    """The service is asked; where it does not answer, its ports are tried."""
    ports = (settings.port, settings.tls_port) if settings.embedded_identity else (settings.port,)
    where = f"{settings.host} port {' and '.join(map(str, ports))}"
    wrong = await ask(_address(settings))
    if wrong is not None:
        checkups = [
            faulty("service", f"It answers, and a check of /health/ready fails: {each}", "See the lines below.")
            for each in wrong
        ]
        return Listeners(tuple(checkups) or (well("service", f"It answers on {where}, and is ready."),), are_ours=True)
    try:
        for port in ports:
            bind(settings.host, port).close()
    except PortTaken as error:
        return Listeners(
            (faulty("service", "It does not answer, and could not be started.", str(error)),), are_ours=False
        )
    return Listeners((well("service", f"It does not run: nothing listens on {where}."),), are_ours=False)


def _address(settings: Settings) -> str:
    """Where it is found on this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104 - it is asked, not bound.
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"
