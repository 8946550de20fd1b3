"""Build the services of all nouns, and the HTTP context."""

from collections.abc import Awaitable, Callable, Sequence

from chamberlain.adoptions.preview import Previewer
from chamberlain.adoptions.service import AdoptionService
from chamberlain.app.clock_and_ids import new_id, new_webhook_secret, now
from chamberlain.app.dependencies import Means
from chamberlain.app.directory import first_look, make_adoptions, make_subjects
from chamberlain.app.identity import believed_base_url, embedded_issuers
from chamberlain.app.readiness import Readiness
from chamberlain.audit.service import AuditService
from chamberlain.auth.models import Caller
from chamberlain.drift.service import DriftService
from chamberlain.events.service import EventService
from chamberlain.groups.service import GroupService
from chamberlain.guests.assignments.service import AssignmentService
from chamberlain.guests.findings.service import FindingService
from chamberlain.guests.policies.service import PolicyService, Simulator
from chamberlain.http.calls import new_trace_id
from chamberlain.http.context import Addresses, HttpContext
from chamberlain.http.cursors import Cursors
from chamberlain.http.hosts import hosts_of
from chamberlain.http.streams import Streams
from chamberlain.mailboxes.service import MailboxService
from chamberlain.observability.metrics import call_answered
from chamberlain.queue.service import JobService
from chamberlain.requests.service import RequestService
from chamberlain.requests.store import RequestLooks
from chamberlain.settings import Settings
from chamberlain.template_admin.service import TemplateService
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from chamberlain.tenants.service import TenantService
from chamberlain.webhooks.service import WebhookService


def make_services(means: Means) -> Sequence[object]:
    """Build the service of each noun that the API calls."""
    database, authorization, people = means.database, means.authorization, means.people
    adoptions = make_adoptions(means.settings, database.pool)
    subjects = make_subjects(means.settings, database.pool)
    secrets = WebhookSecrets(means.keyring, new_webhook_secret, now)
    return [
        GroupService(
            database=database,
            people=people,
            authorization=authorization,
            catalog=means.catalog,
            submitter=means.submitter,
            timelines=means.watching.timelines,
            new_id=new_id,
            now=now,
        ),
        MailboxService(
            database=database,
            people=people,
            authorization=authorization,
            catalog=means.catalog,
            submitter=means.submitter,
            timelines=means.watching.timelines,
            new_id=new_id,
            now=now,
        ),
        RequestService(
            database=database,
            authorization=authorization,
            people=people,
            looks=RequestLooks(database),
            timelines=means.watching.timelines,
            workers=means.notifier,
            watchers=means.watching.notifier,
            new_id=new_id,
            now=now,
        ),
        AssignmentService(database, subjects, authorization, means.assigner, means.notifier, new_id, now),
        FindingService(database, people, authorization, now),
        PolicyService(database, authorization, Simulator(database, subjects, now), new_id),
        TemplateService(database, authorization, people, secrets, new_id),
        WebhookService(
            database=database,
            authorization=authorization,
            secrets=secrets,
            send=means.send,
            workers=means.notifier,
            new_id=new_id,
            now=now,
        ),
        AdoptionService(
            database, authorization, Previewer(database, adoptions, means.catalog), means.notifier, new_id, now
        ),
        DriftService(database, authorization, means.notifier, now),
        EventService(database, authorization),
        AuditService(database, authorization, means.names),
        JobService(database, authorization, means.notifier),
        TenantService(database, people, authorization, embedded_issuers(believed_base_url(means.settings))),
    ]


def make_http_context(means: Means, verify: Callable[[str | None], Awaitable[Caller]], streams: Streams) -> HttpContext:
    """Build what all endpoints share."""
    settings = means.settings
    return HttpContext(
        verify=verify,
        require_allowed=means.authorization.require,
        cursors=Cursors(means.keyring),
        streams=streams,
        check_readiness=Readiness(means.database),
        observe=means.traces.observe(
            lambda path, method, status, seconds: call_answered(path, method, status, seconds=seconds)
        ),
        new_trace_id=new_trace_id,
        prefixes=means.prefixes,
        addresses=Addresses(settings.base_url, settings.insiders_base_url, settings.graph_url),
        hosts=_hosts(settings),
        retry_after_seconds=first_look(settings),
        token_url=_token_url(settings),
    )


def _token_url(settings: Settings) -> str | None:
    base_url = believed_base_url(settings)
    return None if base_url is None else f"{base_url}/{{tenantId}}/oauth2/v2.0/token"


def _hosts(settings: Settings) -> frozenset[str]:
    return hosts_of(
        (settings.base_url, settings.insiders_base_url, settings.graph_url, settings.tls_url),
        (settings.port, settings.tls_port),
    )
