"""Templates over HTTP. Those of mailboxes and those of groups, teams and guests have lists of their own."""

from collections.abc import Iterator
from dataclasses import dataclass

from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.calls_service import Service
from chamberlain.cli.errors_exit_codes import ExitCode
from chamberlain.cli.errors_refusals import ended
from chamberlain.cli.names import id_of_name
from chamberlain.cli.output import Record
from chamberlain_client import operations
from chamberlain_client.errors import Forbidden, NotFound
from chamberlain_client.operations import Operation


@dataclass(frozen=True, slots=True)
class Shelf:
    """The calls of one of the two lists."""

    area: Area
    offer: Operation
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
    """The template of this id or name, as administrators see it, and the list that it stands in."""
    template_id = id_of_name(service, written, (MAIL.list, COLLAB.list), "template")
    for shelf in (MAIL, COLLAB):
        try:
            return shelf, service.read(shelf.read, template_id)
        except NotFound:
            continue
    raise ended(ExitCode.NOT_THERE, f"There is no template {written}. chamberlain template list shows those there are.")


def _listed(call: Call, shelf: Shelf, *, administer: bool) -> Iterator[Record]:
    with call.service(Area.ADMIN if administer else shelf.area) as service:
        try:
            yield from service.items(shelf.list if administer else shelf.offer, {}, None)
        except Forbidden:
            # Whoever may ask for mailboxes alone sees their templates, and the other way round.
            if administer or shelf is COLLAB:
                raise
