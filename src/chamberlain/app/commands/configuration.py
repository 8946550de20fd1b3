# SPDX-License-Identifier: Apache-2.0
"""Commands of configuration files: plan, apply and export."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.databases import opened_or_made
from chamberlain.app.directory import make_directory
from chamberlain.app.errors import in_database
from chamberlain.app.maintenance import configuration_service
from chamberlain.cli.errors import failed, reported_faults
from chamberlain.configuration.files import Configuration, ConfigurationFile, read_configurations
from chamberlain.configuration.plan_output import SOMETHING_TO_DO, confirm_losses, print_plan, print_sections
from chamberlain.configuration.service import ConfigurationService
from chamberlain.configuration.yaml import MOST_BYTES
from chamberlain.connections import records as connection_records
from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Database
from chamberlain.directory.capabilities import Ability, Capabilities, Capable
from chamberlain.observability.logs import new_trace_id
from chamberlain.settings import Settings


def read_files(paths: Sequence[Path]) -> Configuration:
    """Read the files. An invalid file ends the command."""
    with reported_faults():
        return read_configurations([_read(path) for path in paths])


def _read(path: Path) -> ConfigurationFile:
    try:
        with path.open("rb") as file:
            # One byte above the limit shows that the file is too large.
            return ConfigurationFile(str(path), file.read(MOST_BYTES + 1))
    except OSError as error:
        raise failed(f"{path} cannot be read ({error.strerror}).") from error


def _service(settings: Settings, database: Database) -> ConfigurationService:
    capable = CheckedCapabilities(make_directory(settings, database.pool), database)
    return configuration_service(database, capable, settings.permitted_hosts)


@dataclass(frozen=True, slots=True)
class CheckedCapabilities(Capable):
    """Capabilities of directories, for commands that open none.

    A directory elsewhere has the abilities that its last passed check found.
    """

    own: Capable
    database: Database

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:
        """Return the capabilities of the directory of a tenant."""
        own = await self.own.capabilities(tenant_id)
        async with self.database.across_tenants() as tx:
            connection = await connection_records.find(tx, tenant_id)
        if connection is None or connection.address is None or not connection.described.abilities:
            return own
        found = frozenset(each for each in Ability if each in connection.described.abilities)
        return replace(own, shares_database=False, abilities=found)


def show_plan(settings: Settings, paths: Sequence[Path]) -> None:
    """Print the plan. Exits 2 with changes."""
    configuration = read_files(paths)
    plan = in_database(settings, lambda database: _service(settings, database).plan(configuration))
    print_plan(plan)
    print_sections(configuration.directory, configuration.clients)
    if plan.changes:
        raise typer.Exit(SOMETHING_TO_DO)


def apply_files(settings: Settings, paths: Sequence[Path], *, yes: bool) -> None:
    """Apply the plan and print it. Removals require confirmation."""
    configuration = read_files(paths)
    plan = in_database(
        settings, lambda database: _service(settings, database).plan(configuration), opened=opened_or_made
    )
    if plan.losses and not yes:
        print_plan(plan)
        confirm_losses(plan)
    done = in_database(
        settings,
        lambda database: _service(settings, database).apply(
            configuration, actor=command_line(), trace_id=new_trace_id(), agreed=plan
        ),
        opened=opened_or_made,
    )
    if done != plan or yes or not plan.losses:
        print_plan(done)
    print_sections(configuration.directory, configuration.clients)
    if done.changes:
        print("Done.")


def export_files(settings: Settings, tenant_id: TenantId | None, path: Path | None, *, with_assignments: bool) -> None:
    """Write the file atomically, or print it without a file name."""
    text = in_database(
        settings,
        lambda database: _service(settings, database).export(tenant_id, with_assignments=with_assignments),
    )
    if path is None:
        print(text, end="")
        return
    try:
        _write(path.resolve(), text)
    except OSError as error:
        raise failed(f"{path} cannot be written ({error.strerror}).") from error


def _write(path: Path, text: str) -> None:
    if path.exists() and not path.is_file():
        # A pipe or a terminal must not be replaced.
        path.write_text(text, encoding="utf-8")
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
