"""Commands of configuration files: plan, apply and export."""

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec
import typer

from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.databases import opened_or_made
from chamberlain.app.errors import in_database
from chamberlain.cli.errors import failed, reported_faults
from chamberlain.configuration.files import Configuration, ConfigurationFile, read_configurations
from chamberlain.configuration.rules import Plan, PlannedChange, Verb
from chamberlain.configuration.service import ConfigurationService
from chamberlain.configuration.yaml import MOST_BYTES
from chamberlain.core.ids import TenantId
from chamberlain.core.values import Json
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


# Exit code of `plan` if there are changes.
SOMETHING_TO_DO = 2

_ABOUT_PREFIXES = (
    "New requests mark groups and mailboxes with the new prefix. Those that carry an earlier prefix keep it,",
    "and the service still finds them. Programs that search the directory by the prefix must look for both.",
)


def show_plan(settings: Settings, paths: Sequence[Path]) -> None:
    """Print the plan. Exits 2 with changes."""
    configuration = read_files(paths)
    plan = in_database(settings, lambda database: ConfigurationService(database).plan(configuration))
    print_plan(plan)
    print_sections(configuration)
    if plan.changes:
        raise typer.Exit(SOMETHING_TO_DO)


def print_plan(plan: Plan) -> None:
    """Print the changes of each tenant."""
    for tenant_id, changes in groupby(plan.changes, key=lambda change: change.tenant_id):
        print(f"Tenant {tenant_id}")
        for change in changes:
            for line in _lines(change):
                print(f"  {line}")
    counts = ", ".join(f"{plan.count(verb)} to {verb}" for verb in Verb)
    print(f"{counts}." if plan.changes else "Nothing to do.")


def print_sections(configuration: Configuration) -> None:
    """Print a note about sections that are not part of a plan."""
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


def apply_files(settings: Settings, paths: Sequence[Path], *, yes: bool) -> None:
    """Apply the plan and print it. Removals require confirmation."""
    configuration = read_files(paths)
    plan = in_database(
        settings, lambda database: ConfigurationService(database).plan(configuration), opened=opened_or_made
    )
    if plan.losses and not yes:
        print_plan(plan)
        _ask(plan)
    done = in_database(
        settings,
        lambda database: ConfigurationService(database).apply(
            configuration, actor=command_line(), trace_id=new_trace_id(), agreed=plan
        ),
        opened=opened_or_made,
    )
    if done != plan or yes or not plan.losses:
        print_plan(done)
    print_sections(configuration)
    if done.changes:
        print("Done.")


def _ask(plan: Plan) -> None:
    names = ", ".join(_called(loss) for loss in plan.losses)
    try:
        agreed = typer.confirm(f"This removes {names}. Do it?")
    except typer.Abort:
        print()
        agreed = False
    if not agreed:
        raise failed("Nothing was changed. Use --yes to skip this question.")


def _called(loss: PlannedChange) -> str:
    return f"{loss.noun} {loss.name}" if loss.verb is Verb.REMOVE else f"issuers of {loss.noun} {loss.name}"


def export_files(settings: Settings, tenant_id: TenantId | None, path: Path | None) -> None:
    """Write the file atomically, or print it without a file name."""
    text = in_database(settings, lambda database: ConfigurationService(database).export(tenant_id))
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
