# SPDX-License-Identifier: Apache-2.0
"""Assemble the surface that sets faults of the embedded directory over HTTP."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from starlette.types import ASGIApp

from chamberlain.app.clock_and_ids import new_id
from chamberlain.app.databases import Databases
from chamberlain.auth.authorization import Authorization
from chamberlain.auth.permissions import Operation
from chamberlain.auth.verifier import Verifier
from chamberlain.core.errors import Forbidden, Unauthenticated, Unavailable
from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import Forbidden as Denied
from chamberlain.embedded.directory.errors import Unauthorized, Unreachable
from chamberlain.embedded.directory.faults_server import FaultsServer
from chamberlain.embedded.directory.requested_faults import RequestedFaults
from chamberlain.settings import Settings

PATH = "/emulator"


def requested_faults(settings: Settings, pool: Pool) -> RequestedFaults | None:
    """Return the faults of test runs; None without the surface."""
    return RequestedFaults(pool) if settings.fault_surface else None


def faults_application(databases: Databases, verifier: Verifier, authorization: Authorization) -> ASGIApp:
    """Build everything below `/emulator`."""
    return FaultsServer(RequestedFaults(databases.worker.pool), _authenticate(verifier, authorization), new_id)


def _authenticate(verifier: Verifier, authorization: Authorization) -> Callable[[str | None], Awaitable[UUID]]:
    async def authenticate(header: str | None) -> UUID:
        try:
            caller = await verifier.verify(header)
            await authorization.require(caller, Operation.SET_FAULTS)
        except Unauthenticated as refusal:
            raise Unauthorized(refusal.detail, had_token=header is not None) from refusal
        except Forbidden as refusal:
            raise Denied(refusal.detail) from refusal
        except Unavailable as refusal:
            raise Unreachable(refusal.detail) from refusal
        return caller.tenant_id

    return authenticate
