"""Looking ahead at a guest policy, over HTTP."""

from typing import Any

from chamberlain.cli.output import Column

_COLUMNS = (
    Column("AT", "at"),
    Column("WHAT", "type"),
    Column("KIND", "kind"),
    Column("ABOUT", "subject.displayName"),
    Column("GUEST", "guest.displayName"),
    Column("ACTION", "action"),
    Column("ON", "actionAt"),
)


def _counted(simulated: Any) -> str:  # noqa: ANN401 - as above.
    counts = simulated["counts"]
    kinds = (("finding", counts["findings"]), ("action", counts["actions"]))
    each = [f"{noun} {name} {number}" for noun, numbers in kinds for name, number in numbers.items()]
    looked_at = (f"groups and sites {simulated['subjects']}", f"guests {simulated['guests']}")
    return ", ".join([*looked_at, f"reminders {counts['reminders']}", *each])
