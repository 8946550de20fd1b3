"""All that the API may ask for, put together from the files of its nouns."""

from collections.abc import Awaitable, Callable, Sequence

from chamberlain.api.context import Addresses, HttpContext
from chamberlain.api.hosts import hosts_of
from chamberlain.api.streams import Streams
from chamberlain.bootstrap.adoptions import adoption_service
from chamberlain.bootstrap.assignments import assignment_service
from chamberlain.bootstrap.audit import audit_service
from chamberlain.bootstrap.directory import first_look
from chamberlain.bootstrap.drift import drift_service
from chamberlain.bootstrap.events import event_service
from chamberlain.bootstrap.findings import finding_service
from chamberlain.bootstrap.groups import group_service
from chamberlain.bootstrap.identity import believed_base_url
from chamberlain.bootstrap.jobs import job_service
from chamberlain.bootstrap.mailboxes import mailbox_service
from chamberlain.bootstrap.means import Means
from chamberlain.bootstrap.origins import new_trace_id
from chamberlain.bootstrap.policies import policy_service
from chamberlain.bootstrap.readiness import Readiness
from chamberlain.bootstrap.requests import request_service
from chamberlain.bootstrap.templates import template_service
from chamberlain.bootstrap.tenants import tenant_service
from chamberlain.bootstrap.webhooks import webhook_service
from chamberlain.metrics import call_answered
from chamberlain.rules.callers import Caller
from chamberlain.settings import Settings
from chamberlain.store.cursors import Cursors


def make_services(means: Means) -> Sequence[object]:
    """Build the services of all nouns, one for each table of endpoints."""
    return [
        webhook_service(means),
        template_service(means),
        drift_service(means),
        adoption_service(means),
        assignment_service(means),
        finding_service(means),
        group_service(means),
        mailbox_service(means),
        policy_service(means),
        request_service(means),
        audit_service(means),
        event_service(means),
        job_service(means),
        tenant_service(means),
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
