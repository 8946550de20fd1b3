"""Showing what configuration files would change."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec
import typer

from chamberlain.app.commands.configuration_configuration_files import read_files
from chamberlain.app.commands.configuration_configurations import plan_configuration
from chamberlain.cli.errors import told_faults
from chamberlain.configuration.files import Configuration
from chamberlain.configuration.rules import Plan, PlannedChange, Verb
from chamberlain.core.values import Json
from chamberlain.settings import Settings

# There is something to do. What else can happen has 0 and 1.
SOMETHING_TO_DO = 2

_ABOUT_PREFIXES = (
    "New requests mark groups and mailboxes with the new prefix. Those that carry an earlier prefix keep it,",
    "and the service still finds them. Programs that search the directory by the prefix must look for both.",
)


def show_plan(settings: Settings, paths: Sequence[Path]) -> None:
    """Print what would be done; the exit code says whether there is anything."""
    configuration = read_files(paths)
    with told_faults():
        plan = asyncio.run(plan_configuration(settings, configuration))
    print_plan(plan)
    print_sections(configuration)
    if plan.changes:
        raise typer.Exit(SOMETHING_TO_DO)


def print_plan(plan: Plan) -> None:
    """Print every change, tenant by tenant."""
    for tenant_id, changes in groupby(plan.changes, key=lambda change: change.tenant_id):
        print(f"Tenant {tenant_id}")
        for change in changes:
            for line in _lines(change):
                print(f"  {line}")
    counts = ", ".join(f"{plan.count(verb)} to {verb}" for verb in Verb)
    print(f"{counts}." if plan.changes else "Nothing to do.")


def print_sections(configuration: Configuration) -> None:
    """Say of sections that were read and are no part of a plan that they are not."""
    if configuration.directory or configuration.clients:
        print("The sections directory and clients are for the embedded products and are no part of this.")


def _lines(change: PlannedChange) -> Iterator[str]:
    yield f"{change.verb:6}  {change.noun:8}  {change.id}  {change.name}"
    if change.verb is Verb.CHANGE and change.before is not None and change.after is not None:
        for member, before in change.before.items():
            yield f"          {member}: {_written(before)} -> {_written(change.after[member])}"
        if "extensionPrefix" in change.before:
            for line in _ABOUT_PREFIXES:
                yield f"          {line}"


def _written(value: Json) -> str:
    return msgspec.json.encode(value).decode()
