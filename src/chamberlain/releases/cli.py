# SPDX-License-Identifier: Apache-2.0
"""The command that gives managed objects back: preview, start and follow."""

import time

from chamberlain.cli.arguments import one_of
from chamberlain.cli.calls import Area, Call, Service, show_report
from chamberlain.cli.options import agreed
from chamberlain.cli.output import Column, Record, say
from chamberlain_client import operations
from chamberlain_client.models import ReleaseType

# Time between two polls, in seconds. A page of a release takes less.
_POLL = 1.0
_COLUMNS = (
    Column("TYPE", "type"),
    Column("RESULT", "result"),
    Column("NAME", "displayName"),
    Column("ADDRESS", "mail"),
    Column("ID", "id"),
    Column("NOTE", "detail"),
)


def show_preview(call: Call, types: tuple[str, ...]) -> None:
    """Show the objects that a release would give back."""
    with call.service(Area.ADMIN) as service:
        preview = _preview(service, types)
    _show(call, preview)


def release(call: Call, types: tuple[str, ...], *, comment: str | None, key: str | None, yes: bool, wait: bool) -> None:
    """Start a release after a confirmation, or show the running one."""
    with call.service(Area.ADMIN) as service:
        found = _running(service)
        if found is None:
            if not yes:
                _show(call, _preview(service, types))
            agreed("Give these objects back? Their records are removed, and the objects stay.", yes=yes)
            body = {**_body(types), **({} if comment is None else {"comment": comment})}
            found = service.post(operations.CREATE_RELEASE, body=body, key=key)
        else:
            say("A release is running already. No other one was started.")
        if wait:
            found = _follow(service, str(found["id"]))
    _show_release(call, found)


def _running(service: Service) -> Record | None:
    newest = next(service.items(operations.LIST_RELEASES, {}, 1), None)
    if newest is None or newest["state"] != "running":
        return None
    return service.read(operations.READ_RELEASE, str(newest["id"]))


def _follow(service: Service, release_id: str) -> Record:
    """Poll a release until it ends, and show its progress."""
    before = ""
    while True:
        found = service.read(operations.READ_RELEASE, release_id)
        if (progress := _progress(found)) != before:
            say(progress)
            before = progress
        if found["state"] != "running":
            return found
        time.sleep(_POLL)


def _body(types: tuple[str, ...]) -> Record:
    return {"types": [one_of(each, ReleaseType, "--type") for each in types]} if types else {}


def _preview(service: Service, types: tuple[str, ...]) -> Record:
    return service.post(operations.CREATE_RELEASE, body=_body(types), dry_run=True)


def _show(call: Call, preview: Record) -> None:
    objects, skipped, counts = preview["objects"], preview["skipped"], preview["counts"]
    if isinstance(objects, list) and isinstance(skipped, list):
        released = [{**each, "result": "release", "detail": None} for each in objects]
        show_report(call, preview, (_COLUMNS, [*released, *_remarks(skipped)], "objects to release"))
    if isinstance(counts, dict) and not call.output.is_document:
        going, staying = sum(counts["objects"].values()), sum(counts["skipped"].values())
        say(f"{going} would be released, {staying} skipped; the first hundred of each are shown.")


def _show_release(call: Call, found: Record) -> None:
    if isinstance(remarks := found["remarks"], list) and (remarks or call.output.is_document):
        show_report(call, found, (_COLUMNS, _remarks(remarks), "remarks"))
    if not call.output.is_document:
        say(f"Release {found['id']}: {found['state']}. {_progress(found)}")


def _remarks(remarks: list[Record]) -> list[Record]:
    return [{**each, "result": each["code"]} for each in remarks]


def _progress(found: Record) -> str:
    counts = found["counts"]
    if not isinstance(counts, dict):
        return ""
    return f"{counts['released']} of {counts['total']} objects are released, {counts['skipped']} skipped."
