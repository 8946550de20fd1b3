# SPDX-License-Identifier: Apache-2.0
"""The directory: whether it answers, and whether it makes difficulties on purpose."""

import asyncio
import ssl
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from chamberlain.app.clock_and_ids import local_now
from chamberlain.app.data_folder import DataFolder
from chamberlain.app.directory import faults_of, make_people
from chamberlain.app.doctor.checks import judge_issuer_clock, look, not_there
from chamberlain.app.doctor.database import Opened
from chamberlain.app.doctor.store import NotThere, telling, webhook_targets
from chamberlain.app.identity import believed_base_url, embedded_issuers
from chamberlain.auth.issuers import UNANSWERED, UnusableAnswer, ask_issuer, issuers_client
from chamberlain.connections import records as connection_records
from chamberlain.connections.rules import check_connections
from chamberlain.core.errors import TryAgain
from chamberlain.core.health import HealthCheck, fault, healthy, warning
from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.directory.models import PeopleQuestion
from chamberlain.embedded.directory.faults import Faults
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant
from chamberlain.webhooks.addresses import Resolver, check_address
from chamberlain.webhooks.models import WebhookTarget
from chamberlain.webhooks.rules import check_targets


async def look_at_directory(opened: Opened) -> Sequence[HealthCheck]:
    """It is asked for the administrators of the first tenant."""
    found: list[Tenant] = []

    async def read(tx: Transaction) -> Sequence[HealthCheck]:
        found.extend(await tenant_records.find_all(tx))
        return ()

    elsewhere = set[TenantId]()

    async def read_connections(tx: Transaction) -> Sequence[HealthCheck]:
        targets = await connection_records.find_targets(tx)
        elsewhere.update(each.connection.tenant_id for each in targets if each.connection.address is not None)
        return ()

    await look("connections", opened.worker, read_connections)
    reports = [*_on_purpose(opened), *await look("tenants", opened.worker, read)]
    if opened.worker is None or opened.application is None or (not found and reports):
        return reports
    if not found:
        cure = "`chamberlain apply` makes tenants from configuration files."
        return [*reports, warning("tenants", "There is no tenant yet.", cure)]
    suspended = sum(tenant.suspended for tenant in found)
    counted = "1 tenant" if len(found) == 1 else f"{len(found)} tenants"
    reports.append(healthy("tenants", f"There are {counted}, {suspended} of them suspended."))
    own = [tenant for tenant in found if tenant.id not in elsewhere]
    return [*reports, *[await _answer(opened, tenant) for tenant in own[:1]]]


async def _answer(opened: Opened, tenant: Tenant) -> HealthCheck:
    if opened.application is None:
        return fault("directory", "It was not asked.", "Fix CHAMBERLAIN_DATABASE_URL first.")
    people = make_people(opened.settings, opened.application.pool)
    question = PeopleQuestion(tenant.id, users=tenant.administrator_users, named_groups=tenant.administrator_groups)
    try:
        with telling():
            answer = await people.look_up(question)
    except TryAgain as error:
        cure = "Look whether it runs; with faults on purpose, ask again."
        return fault("directory", f"It does not answer: {error.reason}", cure)
    except NotThere as error:
        return not_there("directory", error)
    if answer.people or answer.known_groups:
        return healthy("directory", f"It answers, and knows the administrators of {tenant.name}.")
    cure = "Name administrators in the tenant's configuration file whom the directory knows, and apply it."
    return warning("directory", f"It answers, and knows none of the administrators of {tenant.name}.", cure)


def _on_purpose(opened: Opened) -> Sequence[HealthCheck]:
    cure = "Take the settings CHAMBERLAIN_FAULT_... away where people work."
    reports = []
    if faults_of(opened.settings) != Faults():
        reports.append(warning("directory", "It makes difficulties on purpose, as settings ask for.", cure))
    if opened.settings.fault_surface:
        reports.append(warning("directory", "Test runs can set its faults over HTTP, as settings ask for.", cure))
    return reports


# All that is asked about one issuer.
_PATIENCE_SECONDS = 10.0


async def look_at_issuers(opened: Opened, *, is_served: bool) -> Sequence[HealthCheck]:
    """Check all registered issuers, and the embedded one while `is_served`."""
    registered: set[str] = set()
    found: list[Tenant] = []

    async def read(tx: Transaction) -> Sequence[HealthCheck]:
        found.extend(await tenant_records.find_all(tx))
        issuers = await tenant_records.issuers_of(tx, [tenant.id for tenant in found])
        registered.update(each.issuer for each in issuers)
        return ()

    faults = await look("issuers", opened.worker, read)
    # The platform is one, whichever tenant it is asked for.
    issuers_for = embedded_issuers(believed_base_url(opened.settings))
    embedded = {each.issuer for tenant in found[:1] for each in issuers_for(tenant.id)}
    asked = sorted(registered | embedded if is_served else registered)
    silent = is_served or not opened.settings.embedded_identity
    reports = [] if silent else [healthy("issuers", "The embedded identity platform runs with the service: not asked.")]
    return [*faults, *reports, *await _ask_all(opened, asked)]


async def _ask_all(opened: Opened, issuers: Sequence[str]) -> Sequence[HealthCheck]:
    pem = _authority_pem(DataFolder(opened.settings.data_dir).authority)
    return await asyncio.gather(*(_ask(issuer, pem) for issuer in issuers))


def _authority_pem(authority: Path) -> str | None:
    """Return the certificate authority, or None if it is unusable.

    Another check reports that.
    """
    try:
        pem = authority.read_text(encoding="ascii")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem)
    # An ssl.SSLError is an OSError, and no text at all a ValueError.
    except (OSError, ValueError):
        return None
    return pem


async def _ask(issuer: str, authority_pem: str | None) -> HealthCheck:
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS), issuers_client(authority_pem) as client:
            published = await ask_issuer(client, issuer)
    except UnusableAnswer as error:
        cure = "Tokens of this issuer are refused. Fix its address in the configuration file, or the issuer."
        return fault("issuers", f"{issuer} cannot be used: {error}.", cure)
    except UNANSWERED as error:
        cure = "Look whether this machine can reach it, by name and without a proxy, and trusts its certificate."
        return fault("issuers", f"{issuer} does not answer ({str(error) or type(error).__name__}).", cure)
    if not published.keys:
        cure = "It has to publish a key for RS256 or ES256."
        return fault("issuers", f"{issuer} publishes no key that tokens could be checked with.", cure)
    if urlsplit(issuer).scheme != "https":
        cure = "Use https: keys that come over a line that others can write to prove nothing."
        return warning("issuers", f"{issuer} answers without https.", cure)
    keys = "1 key" if len(published.keys) == 1 else f"{len(published.keys)} keys"
    difference = None if published.at is None else published.at - local_now()
    return judge_issuer_clock("issuers", f"{issuer} publishes {keys}.", difference)


async def look_at_connections(opened: Opened) -> Sequence[HealthCheck]:
    """Report the connections of tenants, as their last checks left them."""

    async def read(tx: Transaction) -> Sequence[HealthCheck]:
        found = [each.connection for each in await connection_records.find_targets(tx)]
        return check_connections(found, opened.settings.permitted_hosts)

    return await look("connections", opened.worker, read)


async def look_at_webhooks(opened: Opened) -> Sequence[HealthCheck]:
    """Check the webhooks of all tenants.

    Names are resolved after the transaction, because that may be slow.
    """
    targets = list[WebhookTarget]()

    async def read(tx: Transaction) -> Sequence[HealthCheck]:
        targets.extend(await webhook_targets(tx))
        return ()

    faults = await look("webhooks", opened.worker, read)
    if faults or opened.worker is None:
        return faults
    settings, resolve = opened.settings, Resolver()
    urls = sorted({target.url for target in targets if target.active})
    reaches = await asyncio.gather(
        *(
            check_address(url, resolve, allowed=settings.allowed_networks, allow_http=settings.webhook_allow_http)
            for url in urls
        )
    )
    return check_targets(targets, dict(zip(urls, reaches, strict=True)))
