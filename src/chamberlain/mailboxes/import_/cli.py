# SPDX-License-Identifier: Apache-2.0
"""Import mailboxes from a CSV file."""

from chamberlain.cli.calls import Area, Call
from chamberlain.cli.import_.results import ImportOptions
from chamberlain.cli.import_.run import Import, import_rows, read_file, require_none, require_three_files
from chamberlain.cli.import_.table import BodyRow
from chamberlain.cli.import_.templates import add_templates
from chamberlain.cli.output import Column
from chamberlain.mailboxes.import_.columns import read_rows
from chamberlain.mailboxes.import_.sender import MailboxSender
from chamberlain_client.operations import LIST_OFFERED_MAILBOX_TEMPLATES

_COLUMNS = (
    Column("LINE", "line"),
    Column("NAME", "name"),
    Column("ADDRESS", "address"),
    Column("TEMPLATE", "template", wide=True),
    Column("APPROVAL", "approvalRequired"),
    Column("STEPS", "steps"),
    Column("REFUSED", "refused"),
)
_MAILBOXES: Import[BodyRow] = Import("mailbox", "Mailboxes", Area.MAIL, lambda row: row.body, MailboxSender, _COLUMNS)


_OFFERED = (Area.MAIL, LIST_OFFERED_MAILBOX_TEMPLATES)


def import_file(call: Call, options: ImportOptions) -> None:
    """Request a mailbox for each row that no earlier run has finished."""
    require_three_files(options)
    rows, faults = read_rows(read_file(options.file))
    require_none(options.file, faults)
    import_rows(call, options, add_templates(call, options, rows, _OFFERED), _MAILBOXES)
