# SPDX-License-Identifier: Apache-2.0
"""Plan and apply configuration files at a remote service.

The caller is an administrator of a tenant.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast
from uuid import UUID

import msgspec
import typer

from chamberlain.cli.calls import Area, Call, show, told_refusals
from chamberlain.cli.errors import ExitCode, Misused, ended
from chamberlain.cli.formats import Format, Output
from chamberlain.cli.output import Record
from chamberlain.configuration.files import Place
from chamberlain.configuration.plan_output import SOMETHING_TO_DO, confirm_losses, print_plan, print_sections
from chamberlain.configuration.rules import ChangeVerb, ConfigurationNoun, Plan, PlannedChange
from chamberlain.configuration.yaml import MOST_BYTES, DocumentInvalid, read_document
from chamberlain.core.ids import TenantId
from chamberlain.core.validation import join_pointer, split_pointer
from chamberlain_client import errors
from chamberlain_client.operations import APPLY_CONFIGURATION, PLAN_CONFIGURATION

if TYPE_CHECKING:
    from chamberlain.changes.models import Content


def show_remote_plan(
    paths: Sequence[Path], *, server: str, ca: Path | None, data_dir: Path | None, as_json: bool
) -> None:
    """Print the plan of a remote service. Exits 2 with changes."""
    with told_refusals():
        call = Call.from_options(
            server=server,
            port=None,
            data_dir=data_dir,
            ca=ca,
            output=Output(Format.JSON, in_lines=True) if as_json else Output(),
        )
        files = _read_files(paths)
        answer = _plan(call, files)
        _show(call, files, answer)
    if answer["changes"]:
        raise typer.Exit(SOMETHING_TO_DO)


def apply_remotely(
    paths: Sequence[Path], *, server: str, ca: Path | None, data_dir: Path | None, as_json: bool, yes: bool
) -> None:
    """Apply the plan of a remote service, and print it.

    Removals require confirmation.
    """
    with told_refusals():
        call = Call.from_options(
            server=server,
            port=None,
            data_dir=data_dir,
            ca=ca,
            output=Output(Format.JSON, in_lines=True) if as_json else Output(),
        )
        files = _read_files(paths)
        planned = _plan(call, files)
        if (plan := _to_plan(planned)).losses and not yes:
            print_plan(plan)
            confirm_losses(plan)
        with files.located_faults(), call.service(Area.ADMIN) as service:
            query = {"digest": str(planned["digest"])}
            done = service.post_document(APPLY_CONFIGURATION, files.document, query=query)
        _show(call, files, done)
    if done["changes"] and not as_json:
        print("Done.")


def _plan(call: Call, files: "_Files") -> Record:
    with files.located_faults(), call.service(Area.ADMIN) as service:
        return service.post_document(PLAN_CONFIGURATION, files.document, query={})


def _show(call: Call, files: "_Files", answer: Record) -> None:
    if call.output.is_document:
        show(call, answer)
        return
    print_plan(_to_plan(answer))
    print_sections(*files.sections)


@dataclass(frozen=True, slots=True)
class _Files:
    """Several files as one document.

    `places` are those of its tenants. `sections` are for the embedded products and are not sent.
    """

    document: Mapping[str, object]
    places: Sequence[Place]
    sections: Sequence[object]

    @contextmanager
    def located_faults(self) -> Iterator[None]:
        """Report faults of the document with their files and lines."""
        try:
            yield
        except errors.Refused as error:
            if not error.faults:
                raise
            more = ["There are more errors."] if error.faults_are_truncated else []
            lines = [self._line(each.pointer, each.code, each.detail) for each in error.faults]
            raise ended(ExitCode.FAILED, *lines, *more, "Nothing was changed.") from error

    def _line(self, pointer: str, code: str, detail: str) -> str:
        parts = split_pointer(pointer)
        if len(parts) > 1 and parts[0] == "tenants" and parts[1].isdecimal() and int(parts[1]) < len(self.places):
            below = ""
            for part in parts[2:]:
                below = join_pointer(below, part)
            return str(self.places[int(parts[1])].below(below).fault(code, detail))
        return f"{pointer or '/'}: {detail}"


def _read_files(paths: Sequence[Path]) -> _Files:
    tenants: list[object] = []
    places: list[Place] = []
    sections: list[object] = []
    others: dict[str, object] = {}
    for path in paths:
        top, value = _read(path)
        found = dict(value)
        sections += [found.pop("directory", None), found.pop("clients", None)]
        listed = found.pop("tenants", None)
        if isinstance(listed, list):
            places += [top.below(f"/tenants/{number}") for number in range(len(listed))]
            tenants += listed
        elif listed is not None:
            others["tenants"] = listed
        others |= found
    return _Files({"tenants": tenants, **others}, places, sections)


def _read(path: Path) -> tuple[Place, Mapping[str, object]]:
    try:
        with path.open("rb") as file:
            document = read_document(file.read(MOST_BYTES + 1))
    except OSError as error:
        raise Misused(f"{path} cannot be read ({error.strerror}).") from error
    except DocumentInvalid as error:
        where = str(path) if error.line is None else f"{path}, line {error.line}"
        raise ended(ExitCode.FAILED, f"{where}: {error.detail}") from error
    if document.value is not None and not isinstance(document.value, dict):
        raise ended(ExitCode.FAILED, f"{path}: The file is no object. Begin it with `tenants:`.")
    return Place(str(path), document.lines, ""), document.value or {}


class _Change(msgspec.Struct, rename="camel"):
    verb: ChangeVerb
    noun: ConfigurationNoun
    tenant_id: UUID
    id: UUID
    name: str
    before: dict[str, object] | None
    after: dict[str, object] | None

    def planned(self) -> PlannedChange:
        """Convert it to the change of a local plan."""
        before, after = cast("Content | None", self.before), cast("Content | None", self.after)
        return PlannedChange(TenantId(self.tenant_id), self.verb, self.noun, self.id, self.name, before, after)


def _to_plan(answer: Record) -> Plan:
    """Convert the answer to a plan.

    Raises AnswerNotUnderstood for one of a newer service.
    """
    try:
        changes = msgspec.convert(answer["changes"], list[_Change])
    except msgspec.ValidationError as error:
        raise errors.AnswerNotUnderstood(200, str(error)) from error
    return Plan(tuple(each.planned() for each in changes))
