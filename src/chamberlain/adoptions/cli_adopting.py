"""Adoptions over HTTP."""

from collections.abc import Iterator
from dataclasses import dataclass

from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.calls_service import Service
from chamberlain.cli.listing import show, show_list
from chamberlain.cli.names import id_of_name
from chamberlain.cli.output import Column, Record, say, show_table
from chamberlain.cli.prompts import agreed
from chamberlain.template_admin.cli_template_files import COLLAB, MAIL
from chamberlain_client import operations

_OF_GROUPS = frozenset({"group", "team"})


@dataclass(frozen=True, slots=True)
class Rule:
    """Whom to take, as it is written; `template` is a name or an id."""

    kind: str
    template: str
    prefix: str | None
    domain: str | None
    ids: tuple[str, ...]

    def body(self, service: Service) -> dict[str, object]:
        """The rule as the API takes it."""
        shelf = COLLAB if self.kind in _OF_GROUPS else MAIL
        chosen = {"q": self.prefix, "domain": self.domain, "ids": list(self.ids) or None}
        return {
            "kind": self.kind,
            "templateId": id_of_name(service, self.template, (shelf.list,), "template"),
            "filter": {name: value for name, value in chosen.items() if value is not None},
        }


def show_preview(call: Call, rule: Rule) -> None:
    """Show who would be taken."""
    with call.service(Area.ADMIN) as service:
        preview = service.post(operations.CREATE_ADOPTION, body=rule.body(service), dry_run=True)
    if call.as_json:
        show(call, preview)
    else:
        _show(preview)
        say(f"To take them: adoption confirm with the same options and --digest {preview['digest']}")


def confirm(call: Call, rule: Rule, digest: str | None, key: str | None, *, yes: bool) -> None:
    """Take what was shown; without a digest, show it first and ask."""
    with call.service(Area.ADMIN) as service:
        body = rule.body(service)
        if digest is None:
            preview = service.post(operations.CREATE_ADOPTION, body=body, dry_run=True)
            if not yes:
                _show(preview)
            agreed("Take these under management?", yes=yes)
            digest = str(preview["digest"])
        show(call, service.post(operations.CREATE_ADOPTION, body={**body, "digest": digest}, key=key))


def undo(call: Call, adoption_id: str, comment: str | None, key: str | None, *, yes: bool) -> None:
    """Give all of one back, and show it."""
    agreed("Take marks and records of this adoption away again?", yes=yes)
    body = {} if comment is None else {"comment": comment}
    with call.service(Area.ADMIN) as service:
        show(call, service.post(operations.UNDO_ADOPTION, adoption_id, body=body, key=key))


def list_adoptions(call: Call, most: int | None) -> None:
    """Show what was confirmed."""
    columns = (
        Column("ID", "id"),
        Column("STATE", "state"),
        Column("KIND", "kind"),
        Column("TEMPLATE", "template.name"),
        Column("TOTAL", "counts.total"),
        Column("ADOPTED", "counts.adopted"),
        Column("REFUSED", "counts.refused"),
        Column("RELEASED", "counts.released"),
        Column("AT", "createdAt"),
    )
    show_list(call, Area.ADMIN, operations.LIST_ADOPTIONS, filters={}, columns=columns, most=most)


def _show(preview: Record) -> None:
    columns = (
        Column("RESULT", "result"),
        Column("NAME", "displayName"),
        Column("ADDRESS", "mail"),
        Column("ID", "id"),
        Column("NOTE", "note"),
    )
    show_table(columns, _lines(preview))
    counts = preview["counts"]
    if isinstance(counts, dict):
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
