"""Applying configuration files, all or nothing."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import typer

from chamberlain.app.commands.configuration_configuration_files import read_files
from chamberlain.app.commands.configuration_configurations import apply_configuration, plan_to_apply
from chamberlain.app.commands.configuration_plan import print_plan, print_sections
from chamberlain.cli.errors import failed, told_faults
from chamberlain.configuration.rules import Plan, PlannedChange, Verb
from chamberlain.settings import Settings


def apply_files(settings: Settings, paths: Sequence[Path], *, yes: bool) -> None:
    """Carry out the plan and print it; somebody has to agree when something is taken away."""
    configuration = read_files(paths)
    with told_faults():
        plan = asyncio.run(plan_to_apply(settings, configuration))
    if plan.losses and not yes:
        print_plan(plan)
        _ask(plan)
    with told_faults():
        done = asyncio.run(apply_configuration(settings, configuration, plan))
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
        raise failed("Nothing was changed. With --yes nobody is asked.")


def _called(loss: PlannedChange) -> str:
    return f"{loss.noun} {loss.name}" if loss.verb is Verb.REMOVE else f"issuers of {loss.noun} {loss.name}"
