# SPDX-License-Identifier: Apache-2.0
"""Tenants: organisations with their settings and limits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from chamberlain.auth.models import Editor, Issuer
from chamberlain.changes.models import Change, Content, Subject, differences
from chamberlain.core.errors import Fault, LimitReached, NotFound
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion, Person, unknown_people
from chamberlain.directory.properties import Treatments

if TYPE_CHECKING:
    from chamberlain.core.values import Json


class Applicability(StrEnum):
    """Treatment of properties that a type of mailbox lacks."""

    REFUSE = "refuse"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a tenant; None means unlimited.

    Open requests wait for an approval or have not ended.
    """

    open_requests: int | None = None
    running_jobs: int | None = None
    requests_per_minute: int | None = None

    @property
    def count_requests(self) -> bool:
        """Return whether a limit applies to new requests."""
        return self.open_requests is not None or self.requests_per_minute is not None


@dataclass(frozen=True, slots=True)
class Tenant:
    """An organisation at one revision.

    New addresses use the first of `domains` by default. With `repairs_drift` the service repairs drift;
    `repair_properties` has the treatments of single properties. `former_prefixes` are earlier values of
    `extension_prefix`, the oldest first: older marks still use them.
    """

    id: TenantId
    revision: int
    name: str
    domains: tuple[str, ...]
    administrator_users: frozenset[UserId]
    administrator_groups: frozenset[GroupId]
    extension_prefix: str
    suspended: bool
    limits: Limits = Limits()
    applicability: Applicability = Applicability.REFUSE
    repairs_drift: bool = False
    repair_properties: Treatments = field(default_factory=dict)
    former_prefixes: tuple[str, ...] = ()

    @property
    def marked_under(self) -> tuple[str, ...]:
        """Return former prefixes that differ from the current one, the newest first."""
        return tuple(dict.fromkeys(each for each in reversed(self.former_prefixes) if each != self.extension_prefix))

    @property
    def default_domain(self) -> str:
        """Return the default domain of new addresses."""
        return self.domains[0]


def limit_full(limit: str) -> LimitReached:
    """Build the refusal for an exhausted limit."""
    if limit == "requestsPerMinute":
        detail = "This tenant has asked for as much as it may in one minute. Send the request again after a minute."
        return LimitReached("quotaExceeded", detail, limit=limit, after=timedelta(minutes=1))
    detail = "This tenant has as many open requests as it may have. Send the request again when some have ended."
    return LimitReached("quotaExceeded", detail, limit=limit, after=timedelta(seconds=10))


def limit_conflicts(full: LimitReached | None) -> tuple[Fault, ...]:
    """Return the exhausted limit as a conflict of a dry run."""
    return () if full is None else (Fault("", full.code, full.detail, full.values),)


@dataclass(frozen=True, slots=True)
class TenantRecord:
    """A tenant with its issuers."""

    tenant: Tenant
    issuers: tuple[Issuer, ...]
    created_at: datetime
    updated_at: datetime

    @property
    def etag(self) -> str:
        """Return the entity tag.

        Revisions never repeat.
        """
        return f'"{self.tenant.revision}"'


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """Settings of a tenant's administrators.

    Without a default domain it stays the same.
    """

    name: str
    default_domain: str | None
    users: tuple[UserId, ...]
    groups: tuple[GroupId, ...]
    repairs_drift: bool
    applicability: Applicability
    repair_properties: Treatments = field(default_factory=dict)


def present(record: TenantRecord | None) -> TenantRecord:
    """Return the tenant. Raises NotFound if it was deleted meanwhile."""
    if record is None:
        raise NotFound("There is no such tenant any more.")
    return record


def question_of(settings: TenantSettings, tenant_id: TenantId) -> PeopleQuestion:
    """Return the question about the designated administrators."""
    groups = frozenset(settings.groups)
    return PeopleQuestion(tenant_id, users=frozenset(settings.users), named_groups=groups, members_of=groups)


def members_question(answer: PeopleAnswer, tenant_id: TenantId) -> PeopleQuestion | None:
    """Return the question about members of groups, if no named user suffices."""
    members = frozenset(member.id for several in answer.relations.members.values() for member in several)
    return PeopleQuestion(tenant_id, users=members) if members and not _lasting(answer.people) else None


def settings_faults(
    settings: TenantSettings, tenant: Tenant, answer: PeopleAnswer, members: Mapping[UserId, Person]
) -> Iterator[Fault]:
    """Validate the settings of a tenant.

    `members` are those of the groups, if they were looked up. Guests may administer, but a tenant needs another
    administrator: policies can remove guests.
    """
    domain = settings.default_domain
    if domain is not None and domain not in tenant.domains:
        sentence = "{domain} is no verified domain of this tenant. Choose one of its domains, or leave it out."
        yield Fault.build("/defaultDomain", "domainNotVerified", sentence, domain=domain)
    users = [(f"/administrators/users/{place}", each) for place, each in enumerate(settings.users)]
    groups = [(f"/administrators/groups/{place}", each) for place, each in enumerate(settings.groups)]
    yield from unknown_people(users, groups, answer)
    if not _lasting(answer.people) and not _lasting(members):
        sentence = "Only guests would administer this tenant. Name a user who is no guest, or a group that has one."
        yield Fault.build("/administrators", "noAdministrator", sentence)


def _lasting(people: Mapping[UserId, Person]) -> bool:
    return any(not person.is_guest for person in people.values())


def changed(tenant: Tenant, settings: TenantSettings) -> Tenant:
    """Apply settings to a tenant.

    The default domain comes first, the others keep their order.
    """
    first = settings.default_domain or tenant.default_domain
    return replace(
        tenant,
        name=settings.name,
        domains=(first, *(domain for domain in tenant.domains if domain != first)),
        administrator_users=frozenset(settings.users),
        administrator_groups=frozenset(settings.groups),
        repairs_drift=settings.repairs_drift,
        repair_properties=settings.repair_properties,
        applicability=settings.applicability,
    )


def replaced(before: Tenant, after: Tenant, editor: Editor) -> Change:
    """Return the change of a tenant, with the changed properties only."""
    was, became = differences(_content(before), _content(after))
    return Change(
        tenant_id=after.id,
        action="tenant.replace",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject("tenant", after.id, after.name),
        before=was,
        after=became,
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )


def _content(tenant: Tenant) -> Content:
    users: list[Json] = [str(user) for user in sorted(tenant.administrator_users)]
    groups: list[Json] = [str(group) for group in sorted(tenant.administrator_groups)]
    properties: dict[str, Json] = {**dict(sorted(tenant.repair_properties.items()))}
    return {
        "name": tenant.name,
        "defaultDomain": tenant.default_domain,
        "administrators": {"users": users, "groups": groups},
        "repair": {"drift": tenant.repairs_drift, "properties": properties},
        "applicability": tenant.applicability,
    }


def suspended(tenant: Tenant, editor: Editor) -> Change:
    """The record of a tenant that is served no longer."""
    return _change(tenant, "suspend", editor, before=False)


def resumed(tenant: Tenant, editor: Editor) -> Change:
    """The record of a tenant that is served again."""
    return _change(tenant, "resume", editor, before=True)


def tenant_unknown(tenant_id: TenantId) -> NotFound:
    """Return the error for an unknown tenant."""
    return NotFound(f"There is no tenant {tenant_id}. Run `chamberlain tenant list` to see all.")


def _change(tenant: Tenant, verb: str, editor: Editor, *, before: bool) -> Change:
    return Change(
        tenant_id=tenant.id,
        action=f"tenant.{verb}",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject("tenant", tenant.id, tenant.name),
        before={"suspended": before},
        after={"suspended": not before},
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )
