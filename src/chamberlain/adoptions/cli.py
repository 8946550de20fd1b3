# SPDX-License-Identifier: Apache-2.0
"""Commands of adoptions: preview, confirm, undo, list and show."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from chamberlain.cli.calls import Area, Call, Service, show, show_list, show_report
from chamberlain.cli.help import CommandTable
from chamberlain.cli.names import ADOPTIONS, id_of, template_id
from chamberlain.cli.options import All, Key, Limit, agreed, calls, most
from chamberlain.cli.output import Column, Record, say
from chamberlain.template_admin.cli import COLLAB, MAIL
from chamberlain_client import operations
from chamberlain_client.models import AdoptedKind

_OF_GROUPS = frozenset({"group", "team"})


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule of an adoption. `template` is a name or an id."""

    kind: str
    template: str
    prefix: str | None
    domain: str | None
    ids: tuple[str, ...]

    def body(self, service: Service) -> dict[str, object]:
        """Return the rule as JSON."""
        lists = (COLLAB.list, MAIL.list) if self.kind in _OF_GROUPS else (MAIL.list, COLLAB.list)
        chosen = {"q": self.prefix, "domain": self.domain, "ids": list(self.ids) or None}
        return {
            "kind": self.kind,
            "templateId": template_id(service, self.template, (self.kind,), lists),
            "filter": {name: value for name, value in chosen.items() if value is not None},
        }


def show_preview(call: Call, rule: Rule) -> None:
    """Show a preview."""
    with call.service(Area.ADMIN) as service:
        preview = service.post(operations.CREATE_ADOPTION, body=rule.body(service), dry_run=True)
    _show(call, preview)
    if not call.output.is_document:
        say(f"To take them: adoption confirm with the same options and --digest {preview['digest']}")


def _confirm(call: Call, rule: Rule, digest: str | None, key: str | None, *, yes: bool) -> None:
    """Confirm an adoption. Without a digest, show the preview first and ask."""
    with call.service(Area.ADMIN) as service:
        body = rule.body(service)
        if digest is None:
            preview = service.post(operations.CREATE_ADOPTION, body=body, dry_run=True)
            if not yes:
                _show(call, preview)
            agreed("Take these under management?", yes=yes)
            digest = str(preview["digest"])
        show(call, service.post(operations.CREATE_ADOPTION, body={**body, "digest": digest}, key=key))


def _show_adoptions(call: Call, most: int | None) -> None:
    """Show adoptions."""
    columns = (
        Column("ID", "id"),
        Column("STATE", "state"),
        Column("KIND", "kind"),
        Column("TEMPLATE", "template.name"),
        Column("TOTAL", "counts.total"),
        Column("ADOPTED", "counts.adopted"),
        Column("REFUSED", "counts.refused"),
        Column("RELEASED", "counts.released", wide=True),
        Column("AGE", "createdAt"),
    )
    show_list(call, Area.ADMIN, operations.LIST_ADOPTIONS, filters={}, columns=columns, most=most, noun="adoptions")


def _show(call: Call, preview: Record) -> None:
    columns = (
        Column("RESULT", "result"),
        Column("NAME", "displayName"),
        Column("ADDRESS", "mail"),
        Column("ID", "id"),
        Column("NOTE", "note"),
    )
    show_report(call, preview, (columns, _lines(preview), "objects of this kind"))
    counts = preview["counts"]
    if isinstance(counts, dict) and not call.output.is_document:
        against = sum(counts["conflicts"].values())
        say(f"{counts['taken']} would be taken, {against} not; the first hundred of each are shown.")


def _lines(preview: Record) -> Iterator[Record]:
    taken, conflicts = preview["taken"], preview["conflicts"]
    if isinstance(taken, list):
        for each in taken:
            differs = ", ".join(each["differences"])
            yield {**each, "result": "taken", "note": f"The template asks for: {differs}" if differs else None}
    if isinstance(conflicts, list):
        for each in conflicts:
            yield {**each, "result": each["code"], "note": each["detail"]}


adoptions = CommandTable()

Kind = Annotated[AdoptedKind, typer.Option(metavar="KIND", help="Kind: shared, equipment, room, group or team.")]
Template = Annotated[str, typer.Option(help="Template of the adopted objects, by name or id.")]
Prefix = Annotated[str | None, typer.Option(metavar="TEXT", help="Only names or addresses with this prefix.")]
Domain = Annotated[str | None, typer.Option(help="Only addresses in this domain.")]
Ids = Annotated[
    list[str] | None,
    typer.Option("--id", metavar="ID", help="Only this object, by its id in the directory; repeatable."),
]


@adoptions.command("preview")
@calls
def preview(
    call: Call, *, kind: Kind, template: Template, prefix: Prefix = None, domain: Domain = None, id_: Ids = None
) -> None:
    """Preview an adoption: candidates, and conflicts of the others."""

    show_preview(call, Rule(kind, template, prefix, domain, tuple(id_ or ())))


@adoptions.command("confirm")
@calls
def confirm(
    call: Call,
    *,
    kind: Kind,
    template: Template,
    prefix: Prefix = None,
    domain: Domain = None,
    id_: Ids = None,
    digest: Annotated[str | None, typer.Option(help="Digest of a preview. Default: show a preview and ask.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    idempotency_key: Key = None,
) -> None:
    """Adopt the objects of a preview."""

    rule = Rule(kind, template, prefix, domain, tuple(id_ or ()))
    _confirm(call, rule, digest, idempotency_key, yes=yes)


@adoptions.command("undo")
@calls
def undo(
    call: Call,
    adoption: Annotated[str, typer.Argument(metavar="ADOPTION", help="Adoption, by id or the end of it.")],
    *,
    comment: Annotated[str | None, typer.Option(help="Comment for the audit trail.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    idempotency_key: Key = None,
) -> None:
    """Undo an adoption: remove its marks and records. The directory objects stay."""
    body = {} if comment is None else {"comment": comment}
    with call.service(Area.ADMIN) as service:
        adoption_id = id_of(service, adoption, ADOPTIONS)
        agreed("Take marks and records of this adoption away again?", yes=yes)
        show(
            call,
            service.post(operations.UNDO_ADOPTION, adoption_id, body=body, key=idempotency_key),
        )


@adoptions.command("show")
@calls
def show_adoption(
    call: Call,
    adoption: Annotated[str, typer.Argument(metavar="ADOPTION", help="Adoption, by id or the end of it.")],
) -> None:
    """Show the progress of an adoption, and its conflicts."""
    with call.service(Area.ADMIN) as service:
        show(call, service.read(operations.READ_ADOPTION, id_of(service, adoption, ADOPTIONS)))


@adoptions.command("list")
@calls
def list_adoptions(call: Call, *, limit: Limit = 50, everything: All = False) -> None:
    """List adoptions, newest first."""

    _show_adoptions(call, most(limit, everything=everything))
