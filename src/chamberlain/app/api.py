# SPDX-License-Identifier: Apache-2.0
"""Build the application with the embedded directory and identity platform."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from chamberlain.adoptions.service import AdoptionService, Previewer
from chamberlain.app.clock_and_ids import local_now, new_id, new_webhook_secret, now
from chamberlain.app.console import PATH as CONSOLE_PATH
from chamberlain.app.console import console_application, make_issuers
from chamberlain.app.data_folder import DataFolder, make_secret, write_file
from chamberlain.app.databases import Databases
from chamberlain.app.dependencies import ApiDependencies, api_dependencies
from chamberlain.app.directory import GRAPH_AUDIENCE, first_look, graph_application, make_adoptions, make_subjects
from chamberlain.app.faults import PATH as FAULTS_PATH
from chamberlain.app.faults import faults_application
from chamberlain.app.identity import (
    believed_base_url,
    embedded_issuers,
    identity_application,
    make_identity_platform,
    make_trust,
)
from chamberlain.app.processes import running
from chamberlain.app.readiness import Readiness
from chamberlain.app.routes import create_app
from chamberlain.app.scim import PATH as SCIM_PATH
from chamberlain.app.scim import scim_application
from chamberlain.app.tracing.traces import Traces
from chamberlain.audit.service import AuditService
from chamberlain.auth.models import Caller
from chamberlain.auth.tokens import api_audiences
from chamberlain.configuration.service import TenantConfigurationService
from chamberlain.connections.service import ConnectionService, ConnectionWriter
from chamberlain.directory.microsoft365 import permissions as graph_permissions
from chamberlain.directory.routed import RoutedAdoptions, RoutedSubjects
from chamberlain.drift.service import DriftService
from chamberlain.embedded.identity.certificates import ServerCertificate, make_server_certificate
from chamberlain.events.service import EventService
from chamberlain.figures.service import FigureService
from chamberlain.groups.service import GroupService
from chamberlain.guests.assignments.service import AssignmentService, AssignmentWriter
from chamberlain.guests.findings.service import FindingService
from chamberlain.guests.policies.service import PolicyService, Simulator
from chamberlain.http.client_address import ClientAddresses
from chamberlain.http.cursors import Cursors
from chamberlain.http.pipeline import hosts_of
from chamberlain.http.request import Addresses, HttpContext
from chamberlain.http.responses import Streams
from chamberlain.mailboxes.service import MailboxService
from chamberlain.me.service import MeService
from chamberlain.observability.logs import new_trace_id
from chamberlain.observability.metrics import call_answered
from chamberlain.people.service import PeopleService
from chamberlain.permissions.service import PermissionService
from chamberlain.permissions.use_counter import UseCounter
from chamberlain.queue.service import JobService
from chamberlain.releases.service import ReleaseService
from chamberlain.requests.replies import ReplyTokens
from chamberlain.requests.service import RequestService
from chamberlain.requests.store import RequestLooks
from chamberlain.secrets.keyring import Keyring, KeysUnusable, load_keyring
from chamberlain.settings import Settings
from chamberlain.substitutes.service import SubstituteService
from chamberlain.template_admin.service import TemplateService
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from chamberlain.tenants.service import TenantService
from chamberlain.webhooks.service import WebhookService


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The application, and the TLS context of its second listener.

    The context is None without the embedded identity platform.
    """

    application: ASGIApp
    tls: ssl.SSLContext | None


@asynccontextmanager
async def built_endpoints(
    settings: Settings, databases: Databases, folder: DataFolder, *, stop: asyncio.Event, traces: Traces
) -> AsyncIterator[Endpoints]:
    """Build the application for the duration of the block.

    Streams end when `stop` is set.
    """
    certificate = _certificate(settings, folder)
    keyring = load_keyring(settings.keys_file)
    async with AsyncExitStack() as stack:
        trust = make_trust(settings, databases, None if certificate is None else certificate.authority_pem)
        stack.push_async_callback(trust.keys.close)
        shared = await stack.enter_async_context(
            api_dependencies(settings, databases, prefixes=trust.prefixes, keyring=keyring, traces=traces)
        )
        verifier = trust.verifier(api_audiences(trust.prefixes))
        graph = graph_application(settings, databases, trust.verifier(frozenset({GRAPH_AUDIENCE})), shared.connections)
        mounts = {urlsplit(settings.graph_url).path: graph}
        if settings.embedded_identity:
            mounts["/identity"] = await _identity(settings, databases, folder, keyring)
        uses = UseCounter(databases.worker, shared.authorization, trust.prefixes, now)
        stack.push_async_callback(uses.close)
        await stack.enter_async_context(running(uses.run()))
        mounts[SCIM_PATH] = scim_application(
            settings,
            databases,
            verifier,
            trust.prefixes,
            count_use=uses.count,
            is_elsewhere=lambda tenant_id: tenant_id in shared.connections.elsewhere,
        )
        if settings.fault_surface:
            mounts[FAULTS_PATH] = faults_application(databases, verifier, shared.authorization)
        http = make_http_context(shared, verifier.verify, Streams(local_now, stop), uses)
        services = make_services(shared)
        issuers = make_issuers(settings, None if certificate is None else certificate.authority_pem, trust.keys)
        stack.push_async_callback(issuers.close)
        mounts[CONSOLE_PATH] = console_application(
            shared, folder, services, issuers=issuers, verify=verifier.verify, streams=http.streams
        )
        application = traces.application(create_app(http, services, mounts))
        if settings.proxies:
            application = ClientAddresses(application, settings.proxies)
        yield Endpoints(application, None if certificate is None else certificate.context)


def _certificate(settings: Settings, folder: DataFolder) -> ServerCertificate | None:
    if not settings.embedded_identity:
        return None
    certificate = make_server_certificate(folder.path, local_now())
    write_file(folder.authority, certificate.authority_pem, mode=0o644)
    return certificate


async def _identity(settings: Settings, databases: Databases, folder: DataFolder, keyring: Keyring) -> ASGIApp:
    platform = make_identity_platform(settings, databases, keyring, make_secret(folder.local_secret))
    # Fail at the start, not at the first token, if the keys file cannot decrypt the signing keys.
    try:
        await platform.keys.current()
    except KeysUnusable as error:
        raise KeysUnusable(f"{settings.keys_file}: {error}") from error
    return identity_application(platform)


def make_services(shared: ApiDependencies) -> Sequence[object]:
    """Build the service of each noun that the API calls."""
    database, authorization, people = shared.database, shared.authorization, shared.people
    adoptions = RoutedAdoptions(make_adoptions(shared.settings, database.pool), shared.connections)
    subjects = RoutedSubjects(make_subjects(shared.settings, database.pool), shared.connections)
    secrets = WebhookSecrets(shared.keyring, new_webhook_secret, now)
    return [
        MeService(database, authorization, people),
        GroupService(
            database=database,
            people=people,
            capable=shared.capable,
            authorization=authorization,
            catalog=shared.catalog,
            submitter=shared.submitter,
            timelines=shared.timelines,
            new_id=new_id,
            now=now,
        ),
        MailboxService(
            database=database,
            people=people,
            capable=shared.capable,
            authorization=authorization,
            catalog=shared.catalog,
            submitter=shared.submitter,
            timelines=shared.timelines,
            new_id=new_id,
            now=now,
        ),
        RequestService(
            database=database,
            authorization=authorization,
            people=people,
            looks=RequestLooks(database),
            timelines=shared.timelines,
            workers=shared.workers,
            watchers=shared.watchers,
            new_id=new_id,
            now=now,
            reply_tokens=ReplyTokens(shared.keyring.sign, shared.keyring.is_signed),
            broken=shared.connections.broken,
        ),
        SubstituteService(database, authorization, people, shared.workers, now),
        AssignmentService(
            database, subjects, shared.capable, authorization, shared.assigner, shared.workers, new_id, now
        ),
        FindingService(database, people, authorization, now),
        PolicyService(database, authorization, Simulator(database, subjects, now), new_id, now),
        TemplateService(database, authorization, people, shared.capable, secrets, new_id, now),
        WebhookService(
            database=database,
            authorization=authorization,
            secrets=secrets,
            send=shared.send,
            workers=shared.workers,
            new_id=new_id,
            now=now,
        ),
        AdoptionService(
            database, authorization, Previewer(database, adoptions, shared.catalog), shared.workers, new_id, now
        ),
        ConnectionService(
            database=database,
            authorization=authorization,
            keyring=shared.keyring,
            check_target=shared.opener.check,
            hosts=shared.opener.hosts,
            processes=shared.connected,
            workers=shared.workers,
            new_id=new_id,
            now=now,
        ),
        ReleaseService(database, authorization, shared.workers, new_id, now),
        DriftService(database, authorization, shared.workers, new_id, now),
        EventService(database, authorization, shared.followers),
        FigureService(database, authorization, now),
        PeopleService(database, authorization, people, now),
        PermissionService(database, authorization, people, shared.client_names, graph_permissions.required, now),
        AuditService(database, authorization, shared.client_names),
        JobService(database, authorization, shared.workers),
        TenantConfigurationService(
            database,
            people,
            shared.capable,
            authorization,
            AssignmentWriter(new_id, now),
            ConnectionWriter(shared.opener.hosts, new_id, now),
            shared.workers,
        ),
        TenantService(
            database, people, authorization, embedded_issuers(believed_base_url(shared.settings)), new_id, now
        ),
    ]


def make_http_context(
    shared: ApiDependencies, verify: Callable[[str | None], Awaitable[Caller]], streams: Streams, uses: UseCounter
) -> HttpContext:
    """Build the shared context of all endpoints."""
    settings = shared.settings
    identity = believed_base_url(settings)
    return HttpContext(
        verify=verify,
        require_allowed=shared.authorization.require,
        cursors=Cursors(shared.keyring),
        streams=streams,
        check_readiness=Readiness(shared.database),
        observe=shared.traces.observe(call_answered),
        new_trace_id=new_trace_id,
        prefixes=shared.prefixes,
        addresses=Addresses(settings.base_url, settings.insiders_base_url, settings.graph_url),
        hosts=hosts_of(
            (
                settings.base_url,
                settings.insiders_base_url,
                settings.graph_url,
                settings.console_url,
                settings.tls_url,
            ),
            (settings.port, settings.tls_port),
        ),
        retry_after_seconds=first_look(settings),
        count_use=uses.count,
        oauth_url=None if identity is None else f"{identity}/{{tenantId}}/oauth2/v2.0",
        sign_in_url=f"{identity}/device" if identity is not None and settings.listens_on_loopback else None,
    )
