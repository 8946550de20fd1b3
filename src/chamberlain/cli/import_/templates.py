# SPDX-License-Identifier: Apache-2.0
"""Find the templates that rows name."""

from collections.abc import Sequence

from chamberlain.cli.calls import Area, Call
from chamberlain.cli.errors import Misused
from chamberlain.cli.import_.results import ImportOptions
from chamberlain.cli.import_.run import require_none
from chamberlain.cli.import_.table import BodyRow, with_templates
from chamberlain.cli.names import is_id
from chamberlain_client.operations import Operation


def add_templates(
    call: Call, options: ImportOptions, rows: Sequence[BodyRow], offered: tuple[Area, Operation]
) -> Sequence[BodyRow]:
    """Return the rows with the ids of their templates.

    `offered` is the list of templates that the caller may use. Unknown names end the command.
    """
    area, operation = offered
    named = any(row.template is not None for row in rows) or (options.template and not is_id(options.template))
    templates: dict[str, list[str]] = {}
    if named:
        with call.service(area) as service:
            for each in service.items(operation, {}, None):
                templates.setdefault(str(each["name"]).casefold(), []).append(str(each["id"]))
    default = options.template
    if default is not None and not is_id(default):
        ids = templates.get(default.casefold(), [])
        if len(ids) != 1:
            raise Misused(
                f"--template {default} is no name of exactly one template. `chamberlain template list` shows them."
            )
        (default,) = ids
    found, faults = with_templates(rows, templates, default)
    require_none(options.file, faults)
    return found
