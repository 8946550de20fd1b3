# SPDX-License-Identifier: Apache-2.0
"""Plans of configuration files on standard output, and the question before removals."""

from collections.abc import Iterator
from itertools import groupby

import msgspec
import typer

from chamberlain.cli.errors import failed
from chamberlain.configuration.rules import ChangeVerb, Plan, PlannedChange
from chamberlain.core.values import Json

# Exit code of `plan` if there are changes.
SOMETHING_TO_DO = 2

_ABOUT_PREFIXES = (
    "New requests mark groups and mailboxes with the new prefix. Those that carry an earlier prefix keep it,",
    "and the service still finds them. Programs that search the directory by the prefix must look for both.",
)


def print_plan(plan: Plan) -> None:
    """Print the changes of each tenant."""
    for tenant_id, changes in groupby(plan.changes, key=lambda change: change.tenant_id):
        print(f"Tenant {tenant_id}")
        for change in changes:
            for line in _lines(change):
                print(f"  {line}")
    counts = ", ".join(f"{plan.count(verb)} to {verb}" for verb in ChangeVerb)
    print(f"{counts}." if plan.changes else "Nothing to do.")


def print_sections(*sections: object) -> None:
    """Print a note about sections that are not part of a plan."""
    if any(sections):
        print("The sections directory and clients are for the embedded products and are no part of this.")


def _lines(change: PlannedChange) -> Iterator[str]:
    yield f"{change.verb:6}  {change.noun:8}  {change.id}  {change.name}"
    if change.verb is ChangeVerb.CHANGE and change.before is not None and change.after is not None:
        for member, before in change.before.items():
            yield f"          {member}: {_written(before)} -> {_written(change.after[member])}"
        if "extensionPrefix" in change.before:
            for line in _ABOUT_PREFIXES:
                yield f"          {line}"


def _written(value: Json) -> str:
    return msgspec.json.encode(value).decode()


def confirm_losses(plan: Plan) -> None:
    """Ask for confirmation of removals. A refusal ends the command."""
    names = ", ".join(_called(loss) for loss in plan.losses)
    try:
        agreed = typer.confirm(f"This removes {names}. Do it?")
    except typer.Abort:
        print()
        agreed = False
    if not agreed:
        raise failed("Nothing was changed. Use --yes to skip this question.")


def _called(loss: PlannedChange) -> str:
    if loss.verb is ChangeVerb.REMOVE:
        return f"{loss.noun} {loss.name}"
    return f"{' and '.join(loss.lost_parts) or 'issuers'} of {loss.noun} {loss.name}"
