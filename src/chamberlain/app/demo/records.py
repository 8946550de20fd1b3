# SPDX-License-Identifier: Apache-2.0
"""Rows of the demo: people, changes in the directory, past figures.

The API has no calls for them. `reset` deletes the tenant and loads it again.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from chamberlain.app.clock_and_ids import command_line, now
from chamberlain.app.data_folder import DataFolder
from chamberlain.app.demo.orders import CONFIDENTIAL_TEAM, PROJECT_GROUP, PROJECT_TEAM, ROOM, TEMPLATES, orders
from chamberlain.app.demo.people import GUEST_IDS, PERSON_IDS, TENANT, directory_section, people
from chamberlain.app.maintenance import example_configuration, reload_example_tenant
from chamberlain.core.errors import Conflict, OperatorFault
from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Database, Transaction
from chamberlain.embedded.directory.estate import read_estate
from chamberlain.embedded.directory.load import load as load_directory
from chamberlain.embedded.identity.clients import Account
from chamberlain.embedded.identity.load import load as load_identity
from chamberlain.figures.models import Since
from chamberlain.figures.rules import bucket_of
from chamberlain.observability.logs import new_trace_id
from chamberlain.queries import load_queries
from chamberlain.tenant_admin.service import TenantOperations

SQL = load_queries(__name__)
SAMPLE = TenantId(TENANT)
_IDS = [PERSON_IDS, GUEST_IDS]
# Days before today with figures.
PAST_DAYS = 30
# Running jobs end within the lease of a job.
_JOBS_END_WITHIN = timedelta(seconds=60)


class NotTheSample(OperatorFault):
    """The installation is not the sample, or has other data."""


@dataclass(frozen=True, slots=True)
class Others:
    """Objects that neither the sample nor the demo made.

    Rules are templates and policies, and include the changed ones of the sample.
    """

    requests: int
    rules: int


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Changes of others in the directory.

    Guests of groups, and new names by group or by address.
    """

    guests: Sequence[tuple[UUID, UUID]]
    groups: Mapping[UUID, str]
    mailboxes: Mapping[str, str]


async def require_sample(database: Database) -> bool:
    """Return whether the demo has added its people. Raises NotTheSample."""
    if await is_missing(database):
        raise NotTheSample("This installation has no sample tenant. `chamberlain demo --reset` loads it.")
    known = [user.id for user in read_estate(example_configuration().directory).users]
    async with database.across_tenants() as tx:
        if number := await _number(tx, SQL["foreign_people"], TENANT, known, _IDS):
            raise NotTheSample(
                f"The directory of the sample tenant has {number} users who are not of the sample data. "
                "The demo changes nothing here."
            )
        row = await tx.fetch_row(SQL["is_filled"], TENANT, _IDS)
    return row is not None and bool(row["is_filled"])


async def require_free_names(database: Database) -> None:
    """Raise NotTheSample if a name of the demo is in use.

    Call it before the first run. The demo recognizes its requests and templates by their names, so it would decide
    about requests of the user.
    """
    async with database.across_tenants() as tx:
        taken = await tx.fetch(SQL["taken_names"], TENANT, _names_of_requests(), _names_of_templates())
    if taken:
        raise NotTheSample(
            f"The sample tenant has {len(taken)} requests or templates with names of the demo, such as "
            f'"{taken[0]["name"]}". The demo changes nothing here.'
        )


async def is_missing(database: Database) -> bool:
    """Return whether the sample tenant is missing. Raises NotTheSample.

    An interrupted reset may leave none.
    """
    tenants = await TenantOperations(database).list()
    expected = {each.tenant.id: each.tenant.name for each in example_configuration().tenants}
    foreign = [each.name for each in tenants if expected.get(each.id) != each.name]
    if foreign or not tenants:
        found = f'The tenant "{foreign[0]}" is not part of the sample data' if foreign else "There is no sample data"
        raise NotTheSample(f"{found}. The demo changes nothing here.")
    return SAMPLE not in {each.id for each in tenants}


async def find_others(database: Database) -> Others:
    """Count the objects of others that a reset would remove."""
    sample = example_configuration().tenants[0]
    rules = [each.name for each in (*(sample.templates or ()), *(sample.policies or ()))]
    async with database.across_tenants() as tx:
        return Others(
            requests=await _number(tx, SQL["foreign_requests"], TENANT, _names_of_requests()),
            rules=await _number(tx, SQL["foreign_rules"], TENANT, [*rules, *_names_of_templates()]),
        )


async def add_people(database: Database) -> None:
    """Add people and guests to the directory, and accounts without passwords."""
    await load_directory(database.pool, directory_section(now()))
    accounts = [
        Account(id=one.id, tenant=TENANT, address=one.address, display_name=one.display_name) for one in people()
    ]
    await load_identity(database.pool, accounts=accounts)


async def change_directory(database: Database, changes: Elsewhere) -> None:
    """Change groups and mailboxes in the directory, as others do."""
    async with database.across_tenants() as tx:
        groups, guests = [group for group, _ in changes.guests], [guest for _, guest in changes.guests]
        await tx.execute(SQL["add_guests"], TENANT, groups, guests)
        await tx.execute(SQL["rename_groups"], TENANT, list(changes.groups), list(changes.groups.values()))
        await tx.execute(SQL["rename_mailboxes"], TENANT, list(changes.mailboxes), list(changes.mailboxes.values()))


async def add_past_figures(database: Database) -> None:
    """Add figures of the days before today.

    There are no requests of these days.
    """
    today = now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    ended, ready = list(_ended(today)), list(_ready(today))
    async with database.across_tenants() as tx:
        await tx.execute(SQL["add_ended"], TENANT, *map(list, zip(*ended, strict=True)))
        await tx.execute(SQL["add_ready"], TENANT, *map(list, zip(*ready, strict=True)))


async def reset(database: Database, folder: DataFolder) -> None:
    """Delete the sample tenant, and load it again. Raises Conflict."""
    operations = TenantOperations(database)
    actor, trace_id = command_line(), new_trace_id()
    await operations.suspend(SAMPLE, actor=actor, trace_id=trace_id)
    end = asyncio.get_running_loop().time() + _JOBS_END_WITHIN.total_seconds()
    while True:
        try:
            await operations.delete_with_directory(SAMPLE, actor=actor, trace_id=trace_id)
        except Conflict:
            # Jobs that run end; a suspended tenant starts no other.
            if asyncio.get_running_loop().time() > end:
                await operations.resume(SAMPLE, actor=actor, trace_id=trace_id)
                raise
            await asyncio.sleep(0.1)
        else:
            break
    await reload_example_tenant(database, folder)


def _names_of_requests() -> list[str]:
    return [each.name for each in orders()]


def _names_of_templates() -> list[str]:
    return [str(each["name"]) for each in TEMPLATES]


async def _number(tx: Transaction, statement: str, *values: object) -> int:
    row = await tx.fetch_row(statement, *values)
    return 0 if row is None else int(row["number"])


def _days(today: datetime) -> Iterator[tuple[int, datetime, int]]:
    """Yield the number of each past day, an hour, and its amount."""
    for number in range(PAST_DAYS):
        day = today - timedelta(days=PAST_DAYS - number)
        is_weekend = day.weekday() >= 5
        yield number, day + timedelta(hours=9 + number % 7), 0 if is_weekend else 1 + number * 7 % 5


def _ended(today: datetime) -> Iterator[tuple[datetime, str, str, int]]:
    for number, hour, much in _days(today):
        for kind, times in (("group", 4), ("team", 3), ("room", 1), ("shared", 2)):
            if much:
                yield hour, kind, "succeeded", much * times + number % 3
        if much > 2:
            yield hour, "team", "rejected", 1
        if number % 9 == 4 and much:
            yield hour, "group", "failed", 1


def _ready(today: datetime) -> Iterator[tuple[datetime, UUID, str, int, int]]:
    for number, hour, much in _days(today):
        # Milliseconds since the acceptance and since the approval. An approver takes a day.
        for template, *milliseconds in (
            (PROJECT_GROUP, 900, 900),
            (PROJECT_TEAM, 2_400, 2_400),
            (ROOM, 1_300, 1_300),
            (CONFIDENTIAL_TEAM, 26 * 3_600_000, 2_800),
        ):
            for since, each in zip(Since, milliseconds, strict=True):
                if much:
                    yield hour, UUID(template), since.value, bucket_of(each * (1 + number % 4 / 4)), much
