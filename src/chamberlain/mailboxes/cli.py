# SPDX-License-Identifier: Apache-2.0
"""Commands of mailboxes: request, list, show and import."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Annotated

import typer

from chamberlain.cli.arguments import body_of, metadata_of, permissions_of
from chamberlain.cli.calls import Area, Call, Service, show, show_list
from chamberlain.cli.help import CommandTable
from chamberlain.cli.names import MAILBOXES, id_of, template_id, user_id
from chamberlain.cli.options import (
    IMPORT_PATIENCE,
    PATIENCE,
    All,
    Body,
    CsvFile,
    DryRun,
    JournalFile,
    Key,
    Limit,
    Metadata,
    Report,
    RowTemplate,
    Timeout,
    Wait,
    calls,
    most,
)
from chamberlain.cli.output import Column
from chamberlain.requests.cli import Manner, submit
from chamberlain_client import operations
from chamberlain_client.models import MailboxType, ProvisioningState


@dataclass(frozen=True, slots=True)
class Property:
    """An option for a property of the API.

    Names of nested properties are joined by a dot. `type` is str, int, bool or list. A list is a repeatable option.
    """

    name: str
    help: str
    type: type = str
    option: str | None = None
    metavar: str | None = None

    @property
    def parameter(self) -> str:
        """Return the name of the option in Python."""
        spelled = self.option or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", self.name)
        return spelled.lower().replace("-", "_")


def takes(properties: Sequence[Property]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add an option for each property.

    The command gets the given ones as `properties`.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*arguments: object, **options: object) -> None:
            given = {each.name: options.pop(each.parameter) for each in properties}
            wanted = {name: value for name, value in given.items() if value is not None and value != []}
            command(*arguments, properties=wanted, **options)

        signature = inspect.signature(command)
        own = [each for each in signature.parameters.values() if each.name != "properties"]
        added = [_parameter(each) for each in properties]
        # The framework reads the signature.
        run.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]  # As wraps() does.
        return run

    return decorate


def object_of(properties: Mapping[str, object]) -> dict[str, object]:
    """Build the JSON object of properties. Dotted names are nested."""
    body = {name: value for name, value in properties.items() if "." not in name}
    for outer in dict.fromkeys(name.partition(".")[0] for name in properties if "." in name):
        inner = {name.partition(".")[2]: value for name, value in properties.items() if name.startswith(f"{outer}.")}
        body[outer] = inner
    return body


def _parameter(declared: Property) -> inspect.Parameter:
    option = typer.Option(help=declared.help, metavar=declared.metavar)
    annotations: dict[type, object] = {
        str: Annotated[str | None, option],
        int: Annotated[int | None, option],
        bool: Annotated[bool | None, option],
        list: Annotated[list[str] | None, option],
    }
    return inspect.Parameter(
        declared.parameter,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=annotations[declared.type],
    )


mailboxes = CommandTable()

_KINDS = ("shared", "equipment", "room")
_REPEATED = "Repeatable."
PROPERTIES = (
    Property("name", "Unique name. The address is made from it."),
    Property("displayName", "Display name."),
    Property("capacity", "Quota in MB, or the number of people in a room.", int),
    Property("officeLocation", "Location of the room."),
    Property("isWheelChairAccessible", "The room is wheelchair accessible.", bool, "wheel-chair-accessible"),
    Property("roomMailboxMetadata.hasConferencePhone", "The room has a conference phone.", bool, "conference-phone"),
    Property("roomMailboxMetadata.hasWhiteboard", "The room has a whiteboard.", bool, "whiteboard"),
    Property(
        "roomMailboxMetadata.hasVideoConferencing", "The room has video conferencing.", bool, "video-conferencing"
    ),
    Property("alias", "Second address of a shared mailbox."),
    Property("autoMapping", "The shared mailbox appears automatically in mail clients.", bool),
    Property("domain", "Domain of the address."),
    Property("hideFromGAL", "Hide it from the address book.", bool, "hide-from-gal"),
    Property("automaticReply", "Text of the automatic reply."),
    Property(
        "isAllowAutomaticReplyOverride", "The automatic reply may be changed.", bool, "allow-automatic-reply-override"
    ),
    Property("tags", _REPEATED, list, "tag"),
    Property("streetAddress", "Street address."),
    Property("postalCode", "Postal code."),
    Property("city", "City."),
    Property("country", "Country."),
    Property("companyName", "Company."),
    Property("department", "Department."),
    Property("phone", "Phone number."),
    Property("businessPhones", _REPEATED, list, "business-phone"),
    Property("audioDeviceName", "Name of the audio device."),
    Property("displayDeviceName", "Name of the display."),
    Property("videoDeviceName", "Name of the video device."),
    Property("state", "Free text that is stored as it is."),
    Property("notes", "Notes for administrators."),
    Property("reason", "Reason of the request."),
)

User = Annotated[str | None, typer.Option(metavar="USER", help="User of the tenant, by id or mail address.")]


@mailboxes.command("create")
@calls
@takes(PROPERTIES)
def create_mailbox(
    call: Call,
    *,
    template: Annotated[
        str | None, typer.Option(help="Template, by name or id. Default: the default template of the type.")
    ] = None,
    permission: Annotated[
        list[str] | None,
        typer.Option(
            metavar="USER=LEVEL", help="Permission of a user (id or mail address): None, SendAs or FullAccess."
        ),
    ] = None,
    primary_owner: User = None,
    secondary_owner: User = None,
    metadata: Metadata = None,
    body: Body = None,
    properties: dict[str, object],
    dry_run: DryRun = False,
    idempotency_key: Key = None,
    wait: Wait = False,
    timeout: Timeout = PATIENCE,
) -> None:
    """Request a shared mailbox, equipment or a room, as the template defines."""
    permissions, keys = permissions_of(permission or []), metadata_of(metadata or [])

    def make_body(service: Service) -> dict[str, object]:
        offered = (operations.LIST_OFFERED_MAILBOX_TEMPLATES, operations.LIST_OFFERED_GROUP_TEMPLATES)
        options = {
            **object_of(properties),
            "templateId": template and template_id(service, template, _KINDS, offered),
            "permissions": {user_id(service, user, option="--permission"): level for user, level in permissions.items()}
            or None,
            "primaryOwner": primary_owner and user_id(service, primary_owner, option="--primary-owner"),
            "secondaryOwner": secondary_owner and user_id(service, secondary_owner, option="--secondary-owner"),
            "metadata": keys,
        }
        return body_of(body, options)

    submit(
        call,
        Area.MAIL,
        operations.CREATE_MAILBOX,
        make_body,
        manner=Manner(dry_run, idempotency_key, wait, timeout),
        finished=lambda service, answer, _: service.read(operations.READ_MAILBOX, str(answer["id"])),
        summary=("displayName", "primarySmtpAddress", "provisioningState", "id", "requestId"),
    )


@mailboxes.command("list")
@calls
def list_mailboxes(
    call: Call,
    *,
    type: Annotated[  # noqa: A002 - The API's word.
        MailboxType | None,
        typer.Option(metavar="TYPE", case_sensitive=False, help="Type: shared, equipment or room."),
    ] = None,
    state: Annotated[
        ProvisioningState | None,
        typer.Option(metavar="STATE", case_sensitive=False, help="Provisioning state, such as active or failed."),
    ] = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="Prefix of the name or of an address.")] = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List the mailboxes that you may read, newest first."""
    columns = (
        Column("ID", "id"),
        Column("TYPE", "type"),
        Column("STATE", "provisioningState"),
        Column("ADDRESS", "primarySmtpAddress"),
        Column("NAME", "displayName"),
        Column("AGE", "createdAt", wide=True),
    )
    filters = {"type": type, "provisioningState": state, "q": query}
    at_most = most(limit, everything=everything)
    show_list(
        call, Area.MAIL, operations.LIST_MAILBOXES, filters=filters, columns=columns, most=at_most, noun="mailboxes"
    )


@mailboxes.command("show")
@calls
def show_mailbox(
    call: Call,
    mailbox: Annotated[
        str, typer.Argument(metavar="MAILBOX", help="Mailbox, by address, name, id or the end of the id.")
    ],
) -> None:
    """Show a mailbox and its state."""
    with call.service(Area.MAIL) as service:
        show(call, service.read(operations.READ_MAILBOX, id_of(service, mailbox, MAILBOXES)))


@mailboxes.command("import")
@calls
def import_mailboxes(
    call: Call,
    file: CsvFile,
    *,
    template: RowTemplate = None,
    dry_run: DryRun = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all mailboxes are active.")] = False,
    timeout: Timeout = IMPORT_PATIENCE,
    report: Report = None,
    journal: JournalFile = None,
) -> None:
    """Request a mailbox for each row of a CSV file.

    Repeat the command to resume.
    """
    from chamberlain.cli.import_.results import ImportOptions
    from chamberlain.mailboxes.import_.cli import import_file

    import_file(
        call,
        ImportOptions(file, template, dry_run=dry_run, wait=wait, timeout=timeout, report=report, journal=journal),
    )
