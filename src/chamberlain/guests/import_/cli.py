# SPDX-License-Identifier: Apache-2.0
"""Import assignments of groups and sites from a CSV file."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from chamberlain.cli.calls import Area, Call, Service
from chamberlain.cli.import_.results import ImportOptions
from chamberlain.cli.import_.run import Import, import_rows, read_file, require_none, require_three_files
from chamberlain.cli.names import ids_of_managed
from chamberlain.cli.output import Column
from chamberlain.guests.import_.columns import AssignmentRow, read_rows
from chamberlain.guests.import_.sender import AssignmentSender
from chamberlain_client.operations import (
    LIST_COLLAB_TEMPLATES,
    LIST_MANAGED_GROUPS,
    LIST_MANAGED_SITES,
    LIST_POLICIES,
)

_COLUMNS = (
    Column("LINE", "line"),
    Column("NAME", "name"),
    Column("TEMPLATE", "templateId"),
    Column("POLICY", "policyId"),
    Column("STEPS", "steps"),
    Column("REMOVALS", "removals"),
    Column("REFUSED", "refused"),
)
_ASSIGNMENTS: Import[AssignmentRow] = Import(
    "assignment", "Assignments", Area.ADMIN, lambda row: row.content, AssignmentSender, _COLUMNS
)
_LISTS = {"group": LIST_MANAGED_GROUPS, "site": LIST_MANAGED_SITES}


def import_file(call: Call, options: ImportOptions) -> None:
    """Change the assignment of each row that no earlier run has finished."""
    require_three_files(options)
    table = read_file(options.file)
    with call.service(Area.ADMIN) as service:
        rows, faults = read_rows(table, _Names(service).find)
    require_none(options.file, faults)
    import_rows(call, options, rows, _ASSIGNMENTS)


@dataclass(frozen=True, slots=True)
class _Names:
    """Ids of names, each looked up once."""

    service: Service
    found: dict[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    lists: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def find(self, column: str, name: str) -> Sequence[str]:
        """Find the ids of a group, site, guest template or policy."""
        if column in {"template", "policy"}:
            return self._listed(column).get(name.casefold(), ())
        if (column, name) not in self.found:
            self.found[column, name] = ids_of_managed(self.service, name, _LISTS[column])
        return self.found[column, name]

    def _listed(self, column: str) -> dict[str, list[str]]:
        if column not in self.lists:
            listed = self.lists[column] = {}
            operation = LIST_COLLAB_TEMPLATES if column == "template" else LIST_POLICIES
            for each in self.service.items(operation, {}, None):
                if column == "policy" or each["kind"] == "guest":
                    listed.setdefault(str(each["name"]).casefold(), []).append(str(each["id"]))
        return self.lists[column]
