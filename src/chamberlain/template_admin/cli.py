# SPDX-License-Identifier: Apache-2.0
"""Commands of templates: list, show, create, replace and delete."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import typer

from chamberlain.cli.arguments import one_of, read_document
from chamberlain.cli.calls import Area, Call, Service, show
from chamberlain.cli.errors import ExitCode, ended
from chamberlain.cli.help import CommandTable
from chamberlain.cli.names import TEMPLATES, find, is_id, pick
from chamberlain.cli.options import Document, IfMatch, Key, Yes, agreed, calls
from chamberlain.cli.output import Column, Record, say
from chamberlain_client import operations
from chamberlain_client.errors import Forbidden, NotFound
from chamberlain_client.models import TemplateKind
from chamberlain_client.operations import Operation


@dataclass(frozen=True, slots=True)
class Shelf:
    """Operations of one of the two areas."""

    area: Area
    offer: Operation
    form: Operation
    list: Operation
    read: Operation
    create: Operation
    replace: Operation
    delete: Operation
    test_webhook: Operation
    rotate_webhook: Operation


MAIL = Shelf(
    Area.MAIL,
    operations.LIST_OFFERED_MAILBOX_TEMPLATES,
    operations.READ_OFFERED_MAILBOX_TEMPLATE,
    operations.LIST_MAILBOX_TEMPLATES,
    operations.READ_MAILBOX_TEMPLATE,
    operations.CREATE_MAILBOX_TEMPLATE,
    operations.REPLACE_MAILBOX_TEMPLATE,
    operations.DELETE_MAILBOX_TEMPLATE,
    operations.TEST_MAILBOX_TEMPLATE_WEBHOOK,
    operations.ROTATE_MAILBOX_TEMPLATE_WEBHOOK,
)
COLLAB = Shelf(
    Area.COLLAB,
    operations.LIST_OFFERED_GROUP_TEMPLATES,
    operations.READ_OFFERED_GROUP_TEMPLATE,
    operations.LIST_COLLAB_TEMPLATES,
    operations.READ_COLLAB_TEMPLATE,
    operations.CREATE_COLLAB_TEMPLATE,
    operations.REPLACE_COLLAB_TEMPLATE,
    operations.DELETE_COLLAB_TEMPLATE,
    operations.TEST_COLLAB_TEMPLATE_WEBHOOK,
    operations.ROTATE_COLLAB_TEMPLATE_WEBHOOK,
)
_MAILBOX_KINDS = {"shared", "equipment", "room"}


def find_template(service: Service, written: str) -> tuple[Shelf, Record]:
    """Find a template by id or name, with its area."""
    if not is_id(written):
        found = find(service, written, TEMPLATES)
        shelf = MAIL if found["kind"] in _MAILBOX_KINDS else COLLAB
        return shelf, service.read(shelf.read, str(found["id"]))
    for shelf in (MAIL, COLLAB):
        try:
            return shelf, service.read(shelf.read, written)
        except NotFound:
            continue
    raise ended(ExitCode.NOT_THERE, f"There is no template {written}. Run chamberlain template list to see all.")


def _listed(call: Call, shelf: Shelf, *, administer: bool) -> Iterator[Record]:
    with call.service(Area.ADMIN if administer else shelf.area) as service:
        try:
            yield from service.items(shelf.list if administer else shelf.offer, {}, None)
        except Forbidden:
            # Users with permission for one area see only the templates of that area.
            if administer or shelf is COLLAB:
                raise


templates = CommandTable()

Template = Annotated[str, typer.Argument(metavar="TEMPLATE", help="Template, by name or id.")]


@templates.command("list")
@calls
def list_templates(
    call: Call,
    *,
    kind: Annotated[
        TemplateKind | None,
        typer.Option(metavar="KIND", case_sensitive=False, help="Kind: shared, equipment, room, group, team or guest."),
    ] = None,
    administer: Annotated[
        bool, typer.Option("--admin", help="Include guest templates and inactive ones. For administrators.")
    ] = False,
) -> None:
    """List the templates of mailboxes, groups and teams that you may use."""
    columns = [Column("ID", "id"), Column("KIND", "kind"), Column("NAME", "name")]
    columns.append(Column("ACTIVE", "active") if administer else Column("APPROVAL", "approvalRequired"))
    columns.append(Column("DESCRIPTION", "description"))
    found = (each for shelf in (MAIL, COLLAB) for each in _listed(call, shelf, administer=administer))
    call.output.show_records((each for each in found if kind is None or each["kind"] == kind), columns, "templates")


@templates.command("show")
@calls
def show_template(call: Call, template: Template) -> None:
    """Show all properties of a template. For administrators."""
    with call.service(Area.ADMIN) as service:
        _, found_template = find_template(service, template)
        show(call, found_template)


@templates.command("form")
@calls
def show_form(call: Call, template: Template) -> None:
    """Show the data that a request by this template needs.

    For all who may use the template.
    """
    offered = [each for shelf in (MAIL, COLLAB) for each in _offered(call, shelf)]
    # The service decides about an id that no list has.
    template_id = template if is_id(template) else pick(offered, template, TEMPLATES)
    is_mailbox = any(each["id"] == template_id.lower() and each["kind"] in _MAILBOX_KINDS for each in offered)
    shelf = MAIL if is_mailbox else COLLAB
    with call.service(shelf.area) as service:
        show(call, service.read(shelf.form, template_id))


def _offered(call: Call, shelf: Shelf) -> Iterator[Record]:
    """List the templates of an area, or none without the permission."""
    with call.service(shelf.area) as service, suppress(Forbidden):
        yield from service.items(shelf.offer, {}, None)


@templates.command("create")
@calls
def create_template(call: Call, *, body: Document, idempotency_key: Key = None) -> None:
    """Create a template from a JSON file. For administrators."""
    document, _ = read_document(body)
    shelf = _shelf_of(document)
    with call.service(Area.ADMIN) as service:
        show(call, service.post(shelf.create, body=document, key=idempotency_key))


def _shelf_of(document: Record) -> Shelf:
    """Choose the area by the kind.

    Each area of the service knows only its own kinds.
    """
    kind = one_of(str(document.get("kind", "")), TemplateKind, "--body kind")
    return MAIL if kind in _MAILBOX_KINDS else COLLAB


@templates.command("replace")
@calls
def replace_template(call: Call, template: Template, *, body: Document, if_match: IfMatch = None) -> None:
    """Replace a template by a JSON file. For administrators."""
    document, etag = read_document(body)
    with call.service(Area.ADMIN) as service:
        shelf, found_template = find_template(service, template)
        show(call, service.change(shelf.replace, str(found_template["id"]), body=document, if_match=if_match or etag))


@templates.command("delete")
@calls
def delete_template(call: Call, template: Template, *, if_match: IfMatch = None, yes: Yes = False) -> None:
    """Delete a template, after confirmation. For administrators."""
    with call.service(Area.ADMIN) as service:
        shelf, found_template = find_template(service, template)
        agreed(f"This removes the template {found_template['name']} ({found_template['id']}). Do it?", yes=yes)
        service.change(shelf.delete, str(found_template["id"]), if_match=if_match)
    say(f"{found_template['name']} ({found_template['id']}) is removed.")
