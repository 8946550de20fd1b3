"""The application that the listeners serve: the API, with the embedded directory and identity platform beside it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from chamberlain.api.app import create_app
from chamberlain.api.hosts import hosts_of
from chamberlain.api.services import Addresses, Audit, Managed, Services
from chamberlain.api.streams import Streams
from chamberlain.bearer.audiences import api_audiences
from chamberlain.bearer.keys import IssuerKeys
from chamberlain.bearer.verify import FindIssuer, Verifier
from chamberlain.bootstrap.data_folder import DataFolder, make_secret, write_file
from chamberlain.bootstrap.databases import Databases
from chamberlain.bootstrap.directory import first_look, make_people, make_subjects
from chamberlain.bootstrap.graph import GRAPH_AUDIENCE, graph_application
from chamberlain.bootstrap.identity import (
    client_names,
    embedded_issuers,
    identity_application,
    identity_base_url,
    issuer_finder,
    make_identity_platform,
)
from chamberlain.bootstrap.origins import new_id, new_trace_id, now
from chamberlain.bootstrap.policies import policy_services
from chamberlain.bootstrap.readiness import Readiness
from chamberlain.bootstrap.templates import template_services
from chamberlain.bootstrap.watching import Watching
from chamberlain.embedded.identity.certificates import make_server_certificate
from chamberlain.metrics import call_answered, submissions_written
from chamberlain.rules.permissions import ScopePrefixes
from chamberlain.rules.template_areas import COLLAB, MAIL
from chamberlain.settings import Settings
from chamberlain.store.assignments import Assigner
from chamberlain.store.batcher import Acceptor
from chamberlain.store.callers import Callers
from chamberlain.store.catalog import Catalog
from chamberlain.store.cursors import Cursors
from chamberlain.store.deeds import Deeds
from chamberlain.store.keyring import Keyring, KeysUnusable, load_keyring
from chamberlain.store.notifier import Notifier
from chamberlain.usecases.assignment_change import ChangeAssignment
from chamberlain.usecases.audit_export import ExportAudit
from chamberlain.usecases.audit_list import ListAudit
from chamberlain.usecases.finding_list import ListFindings
from chamberlain.usecases.group_request import RequestGroup
from chamberlain.usecases.job_list import ListJobs
from chamberlain.usecases.job_release import ReleaseJob
from chamberlain.usecases.mailbox_list import ListMailboxes
from chamberlain.usecases.mailbox_read import ReadMailbox
from chamberlain.usecases.mailbox_request import RequestMailbox
from chamberlain.usecases.request_await import AwaitResult
from chamberlain.usecases.request_cancel import CancelRequest
from chamberlain.usecases.request_list import ListRequests
from chamberlain.usecases.request_read import ReadRequest
from chamberlain.usecases.request_retry import RetryRequest
from chamberlain.usecases.request_watch import WatchRequest
from chamberlain.usecases.subject_list import ListSubjects
from chamberlain.usecases.subject_read import ReadSubject
from chamberlain.usecases.tenant_read import ReadTenant
from chamberlain.usecases.tenant_replace import ReplaceTenant


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What is served, and the context for the listener with TLS (None without the embedded identity platform)."""

    application: ASGIApp
    tls: ssl.SSLContext | None


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom tokens are believed from, and what the permissions in them are called."""

    find_issuer: FindIssuer
    keys: IssuerKeys
    prefixes: ScopePrefixes

    def verifier(self, audiences: frozenset[str]) -> Verifier:
        """Proves tokens for these audiences."""
        return Verifier(audiences, self.find_issuer, self.keys, now)


@asynccontextmanager
async def built_endpoints(
    settings: Settings,
    databases: Databases,
    notifier: Notifier,
    folder: DataFolder,
    *,
    watching: Watching,
    stop: asyncio.Event,
) -> AsyncIterator[Endpoints]:
    """Everything that answers, for as long as the block runs. Answers that go on end when `stop` is set."""
    certificate = make_server_certificate(folder.path, now())
    write_file(folder.authority, certificate.authority_pem, mode=0o644)
    trust = Trust(
        find_issuer=issuer_finder(databases.application, identity_base_url(settings)),
        keys=IssuerKeys(now, authority_pem=certificate.authority_pem),
        prefixes=ScopePrefixes(settings.scope_prefix, settings.insiders_scope_prefix, GRAPH_AUDIENCE),
    )
    acceptor = Acceptor(databases.application, observe=submissions_written)
    assigner = Assigner(databases.application)
    keyring = load_keyring(settings.keys_file)
    platform = make_identity_platform(settings, databases, keyring, make_secret(folder.local_secret))
    mounts = {
        urlsplit(settings.graph_url).path: graph_application(
            settings, databases, trust.verifier(frozenset({GRAPH_AUDIENCE}))
        ),
        "/identity": identity_application(platform),
    }
    # A keys file that does not open the signing keys is told now, not at the first token.
    try:
        await platform.keys.current()
    except KeysUnusable as error:
        raise KeysUnusable(f"{settings.keys_file}: {error}") from error
    try:
        services = _services(
            settings,
            databases,
            trust,
            acceptor=acceptor,
            assigner=assigner,
            notifier=notifier,
            watching=watching,
            streams=Streams(now, stop),
            keyring=keyring,
        )
        yield Endpoints(create_app(services, mounts), certificate.context)
    finally:
        await acceptor.close()
        await assigner.close()
        await trust.keys.close()


def _services(
    settings: Settings,
    databases: Databases,
    trust: Trust,
    *,
    acceptor: Acceptor,
    assigner: Assigner,
    notifier: Notifier,
    watching: Watching,
    streams: Streams,
    keyring: Keyring,
) -> Services:
    cursors = Cursors(keyring)
    people = make_people(settings, databases.application.pool)
    names = client_names(databases)
    callers = Callers(databases.application, people, now, names)
    database, prefixes = databases.application, trust.prefixes
    deeds = Deeds(database, callers, prefixes, watching.notifier)
    addresses = Addresses(settings.base_url, settings.insiders_base_url, settings.graph_url)
    catalog = Catalog(databases.application)
    request_group = RequestGroup(
        database=databases.application,
        people=people,
        callers=callers,
        prefixes=prefixes,
        catalog=catalog,
        acceptor=acceptor,
        notifier=notifier,
        new_id=new_id,
        now=now,
    )
    request_mailbox = RequestMailbox(
        database=database,
        people=people,
        callers=callers,
        prefixes=prefixes,
        catalog=catalog,
        acceptor=acceptor,
        notifier=notifier,
        new_id=new_id,
        now=now,
    )
    look_up = make_subjects(settings, database.pool).look_up
    assign = ChangeAssignment(database, look_up, callers, prefixes, assigner, notifier, new_id, now)
    own_issuers = embedded_issuers(identity_base_url(settings))
    return Services(
        verify=trust.verifier(api_audiences(trust.prefixes)).verify,
        require_allowed=partial(callers.require_allowed, prefixes),
        request_group=request_group,
        rehearse_group=request_group.rehearse,
        request_mailbox=request_mailbox,
        rehearse_mailbox=request_mailbox.rehearse,
        read_mailbox=ReadMailbox(database, callers, prefixes),
        list_mailboxes=ListMailboxes(database, callers, prefixes),
        await_result=AwaitResult(watching.timelines),
        read_request=ReadRequest(database, callers, prefixes),
        list_requests=ListRequests(database, callers, prefixes),
        cancel_request=CancelRequest(deeds, new_id, now),
        retry_request=RetryRequest(deeds, notifier, now),
        list_jobs=ListJobs(database, callers, prefixes),
        release_job=ReleaseJob(database, callers, prefixes, notifier),
        audit=Audit(ListAudit(database, callers, prefixes, names), ExportAudit(database, callers, prefixes, names)),
        mailbox_templates=template_services(MAIL, database, callers, people, prefixes=prefixes, keyring=keyring),
        collab_templates=template_services(COLLAB, database, callers, people, prefixes=prefixes, keyring=keyring),
        policies=policy_services(database, callers, prefixes),
        read_tenant=ReadTenant(database, callers, prefixes, own_issuers),
        replace_tenant=ReplaceTenant(database, people, callers, prefixes, own_issuers),
        managed=Managed(
            list=ListSubjects(database, callers, prefixes),
            read=ReadSubject(database, look_up, callers, prefixes, now),
            assign=assign,
        ),
        list_findings=ListFindings(database, callers, prefixes),
        seal_cursor=cursors.seal,
        open_cursor=cursors.open,
        open_named_cursor=cursors.open_named,
        watch_request=WatchRequest(databases.application, callers, trust.prefixes, watching.timelines),
        streams=streams,
        check_readiness=Readiness(databases.application),
        observe=lambda path, method, status, seconds: call_answered(path, method, status, seconds=seconds),
        new_trace_id=new_trace_id,
        prefixes=trust.prefixes,
        addresses=addresses,
        hosts=hosts_of(
            (addresses.base_url, addresses.insiders_base_url, addresses.graph_url, settings.tls_url),
            (settings.port, settings.tls_port),
        ),
        retry_after_seconds=first_look(settings),
        token_url=f"{identity_base_url(settings)}/{{tenantId}}/oauth2/v2.0/token",
    )
