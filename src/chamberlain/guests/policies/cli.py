"""Guest policies: listed, shown, written."""

from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.options import Document, IfMatch, Key, Yes

if TYPE_CHECKING:
    from chamberlain.cli.calls_call import Call

policies = typer.Typer(
    name="policy", help="Look at guest policies, and write them. For administrators.", no_args_is_help=True
)

Policy = Annotated[str, typer.Argument(metavar="POLICY", help="By name or id.")]


@policies.command("list")
@calls
def list_policies(call: "Call") -> None:
    """List all of them."""
    from chamberlain.guests.policies.cli_policy_files import list_policies

    list_policies(call)


@policies.command("show")
@calls
def show_policy(call: "Call", policy: Policy) -> None:
    """Show a policy with its rules."""
    from chamberlain.guests.policies.cli_policy_files import show_policy

    show_policy(call, policy)


@policies.command("create")
@calls
def create_policy(call: "Call", *, body: Document, idempotency_key: Key = None) -> None:
    """Make a policy of a file."""
    from chamberlain.guests.policies.cli_policy_files import create_policy

    create_policy(call, body, idempotency_key)


@policies.command("replace")
@calls
def replace_policy(call: "Call", policy: Policy, *, body: Document, if_match: IfMatch = None) -> None:
    """Put the content of a file in the place of what a policy says."""
    from chamberlain.guests.policies.cli_policy_files import replace_policy

    replace_policy(call, policy, body, if_match)


@policies.command("simulate")
@calls
def simulate_policy(
    call: "Call",
    policy: Policy,
    *,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP", help="Only this group, by name, mail address or id; may be given repeatedly."),
    ] = None,
    site: Annotated[
        list[str] | None,
        typer.Option(metavar="SITE", help="Only this site, by name, address or id; may be given repeatedly."),
    ] = None,
) -> None:
    """Show what a policy would do from now on, to some groups and sites or to all. Nothing is done."""
    from chamberlain.guests.policies.cli_simulating import simulate_policy

    simulate_policy(call, policy, group, site)


@policies.command("delete")
@calls
def delete_policy(call: "Call", policy: Policy, *, if_match: IfMatch = None, yes: Yes = False) -> None:
    """Remove a policy. Asks first."""
    from chamberlain.guests.policies.cli_policy_files import delete_policy

    delete_policy(call, policy, if_match, yes=yes)
