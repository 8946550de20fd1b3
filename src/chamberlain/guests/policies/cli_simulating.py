"""Looking ahead at a guest policy, over HTTP."""

from typing import Any

from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.listing import show, show_records
from chamberlain.cli.names import id_of_name
from chamberlain.cli.output import Column, say
from chamberlain.guests.cli import GROUP, SITE
from chamberlain_client import operations

_COLUMNS = (
    Column("AT", "at"),
    Column("WHAT", "type"),
    Column("KIND", "kind"),
    Column("ABOUT", "subject.displayName"),
    Column("GUEST", "guest.displayName"),
    Column("ACTION", "action"),
    Column("ON", "actionAt"),
)


def simulate_policy(call: Call, written: str, groups: list[str] | None, sites: list[str] | None) -> None:
    """Show what a policy would do, the earliest first, and say how much that is."""
    chosen = (("groupIds", GROUP, groups), ("siteIds", SITE, sites))
    with call.service(Area.ADMIN) as service:
        body = {name: [managed.id_of(service, each) for each in named] for name, managed, named in chosen if named}
        policy_id = id_of_name(service, written, (operations.LIST_POLICIES,), "policy")
        # The members of an answer may be anything.
        simulated: Any = service.post(operations.SIMULATE_POLICY, policy_id, body=body)
    if call.as_json:
        show(call, simulated)
        return
    show_records(call, simulated["items"], _COLUMNS)
    more = "" if simulated["isWhole"] else f" The first {len(simulated['items'])} are shown."
    say(f"Until {simulated['to']}: {_counted(simulated)}.{more}")


def _counted(simulated: Any) -> str:  # noqa: ANN401 - as above.
    counts = simulated["counts"]
    kinds = (("finding", counts["findings"]), ("action", counts["actions"]))
    each = [f"{noun} {name} {number}" for noun, numbers in kinds for name, number in numbers.items()]
    looked_at = (f"groups and sites {simulated['subjects']}", f"guests {simulated['guests']}")
    return ", ".join([*looked_at, f"reminders {counts['reminders']}", *each])
