# SPDX-License-Identifier: Apache-2.0
"""Import groups and teams from a CSV file."""

from collections.abc import Mapping, Sequence

from chamberlain.cli.calls import Area, Call
from chamberlain.cli.import_.results import ImportOptions
from chamberlain.cli.import_.run import Import, import_rows, read_file, require_none, require_three_files
from chamberlain.cli.import_.table import BodyRow, Table
from chamberlain.cli.import_.templates import add_templates
from chamberlain.cli.names import find_users
from chamberlain.cli.output import Column
from chamberlain.groups.import_.columns import addresses_in, read_rows
from chamberlain.groups.import_.sender import GroupSender
from chamberlain_client.operations import LIST_OFFERED_GROUP_TEMPLATES

_COLUMNS = (
    Column("LINE", "line"),
    Column("NAME", "name"),
    Column("ADDRESS", "address"),
    Column("TEMPLATE", "template", wide=True),
    Column("APPROVAL", "approvalRequired"),
    Column("STEPS", "steps"),
    Column("REFUSED", "refused"),
)
_GROUPS: Import[BodyRow] = Import("group", "Groups", Area.COLLAB, lambda row: row.body, GroupSender, _COLUMNS)


_OFFERED = (Area.COLLAB, LIST_OFFERED_GROUP_TEMPLATES)


def import_file(call: Call, options: ImportOptions) -> None:
    """Request the groups that no earlier run has requested."""
    require_three_files(options)
    table = read_file(options.file)
    users = _users(call, table)
    rows, faults = read_rows(table, lambda address: users.get(address, ()))
    require_none(options.file, faults)
    import_rows(call, options, add_templates(call, options, rows, _OFFERED), _GROUPS)


def _users(call: Call, table: Table) -> Mapping[str, Sequence[str]]:
    """Find the users of all addresses in the file."""
    addresses = addresses_in(table)
    if not addresses:
        return {}
    with call.service(Area.COLLAB) as service:
        return {address: find_users(service, address) for address in addresses}
