# SPDX-License-Identifier: Apache-2.0
"""Assemble the SCIM surface of the embedded directory."""

from collections.abc import Callable
from uuid import UUID

from starlette.types import ASGIApp

from chamberlain.app.clock_and_ids import new_id
from chamberlain.app.databases import Databases
from chamberlain.app.faults import requested_faults
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation, ScopePrefixes, require
from chamberlain.auth.verifier import Verifier
from chamberlain.core.errors import Forbidden, Unauthenticated, Unavailable
from chamberlain.core.ids import TenantId
from chamberlain.embedded.directory.errors import Forbidden as Denied
from chamberlain.embedded.directory.errors import Unauthorized, Unreachable
from chamberlain.embedded.directory.faults_server import FaultyApplication, with_faults
from chamberlain.embedded.directory.requested_faults import Operation as FaultOperation
from chamberlain.embedded.directory.scim.server import Authenticate, ScimServer
from chamberlain.settings import Settings

PATH = "/scim/v2"


def scim_application(
    settings: Settings,
    databases: Databases,
    verifier: Verifier,
    prefixes: ScopePrefixes,
    *,
    count_use: Callable[[Caller, Operation], None],
    is_elsewhere: Callable[[TenantId], bool],
) -> ASGIApp:
    """Build everything below `/scim/v2`.

    The verifier is that of the API, and uses of its permission count. `is_elsewhere` tells whether the directory of a
    tenant is in another database.
    """
    authenticate = _authenticate(verifier, prefixes, count_use, is_elsewhere)
    faults = requested_faults(settings, databases.application.pool)
    if faults is not None:
        authenticate = with_faults(authenticate, faults, lambda tenant_id: tenant_id)
    server = ScimServer(
        reader=databases.application.pool,
        writer=databases.worker.pool,
        url=f"{settings.base_url.rstrip('/')}{PATH}",
        authenticate=authenticate,
        new_id=new_id,
    )
    return server if faults is None else FaultyApplication(server, FaultOperation.SCIM_READ, FaultOperation.SCIM_WRITE)


def _authenticate(
    verifier: Verifier,
    prefixes: ScopePrefixes,
    count_use: Callable[[Caller, Operation], None],
    is_elsewhere: Callable[[TenantId], bool],
) -> Authenticate:
    async def authenticate(authorization: str | None) -> UUID:
        try:
            caller = await verifier.verify(authorization)
            if caller.user_id is not None:
                raise Denied("A user cannot do this. Use the token of an application.")
            require(caller, Operation.MANAGE_PEOPLE, prefixes)
        except Unauthenticated as refusal:
            raise Unauthorized(refusal.detail, had_token=authorization is not None) from refusal
        except Unavailable as refusal:
            raise Unreachable(refusal.detail) from refusal
        except Forbidden as refusal:
            raise Denied(refusal.detail) from refusal
        if is_elsewhere(caller.tenant_id):
            raise Denied("The directory of this tenant is elsewhere. Provision people there.")
        count_use(caller, Operation.MANAGE_PEOPLE)
        return caller.tenant_id

    return authenticate
