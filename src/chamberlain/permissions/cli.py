# SPDX-License-Identifier: Apache-2.0
"""Command that shows held, used and needed permissions."""

from collections.abc import Iterator, Mapping
from typing import Final

from chamberlain.cli.calls import Area, Call, show_report
from chamberlain.cli.output import Column, Record
from chamberlain_client import operations

_CALLERS: Final = (
    Column("ID", "id"),
    Column("KIND", "kind"),
    Column("NAME", "displayName"),
    Column("PERMISSION", "permission"),
    Column("CALLS", "count"),
    Column("LAST USED", "lastUsedAt"),
)
_DIRECTORY: Final = (
    Column("DIRECTORY PERMISSION", "permission"),
    Column("NEEDED BY", "kind"),
    Column("NAME", "name"),
    Column("ID", "id"),
)


def show_permissions(call: Call) -> None:
    """Print the permissions of callers, and those of the directory.

    Unused ones have 0 calls.
    """
    with call.service(Area.ADMIN) as service:
        report = service.read(operations.REPORT_PERMISSIONS)
    callers = (_CALLERS, _caller_rows(report), "callers")
    show_report(call, report, callers, (_DIRECTORY, _directory_rows(report), "directory permissions in use"))


def _caller_rows(report: Record) -> Iterator[Record]:
    for caller in _records(report["callers"]):
        for used in _records(caller["used"]):
            yield {**caller, **used}
        unused = caller["unused"]
        for permission in unused if isinstance(unused, list) else ():
            yield {**caller, "permission": permission, "count": 0}


def _directory_rows(report: Record) -> Iterator[Record]:
    for needed in _records(report["directory"]):
        for needer in _records(needed["neededBy"]):
            yield {**needer, "permission": needed["permission"]}


def _records(items: object) -> Iterator[Record]:
    if isinstance(items, list):
        yield from (each for each in items if isinstance(each, Mapping))
