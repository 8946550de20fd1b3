# SPDX-License-Identifier: Apache-2.0
"""Commands that request groups and teams."""

from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.cli.arguments import body_of, metadata_of
from chamberlain.cli.calls import Area, Call, Service
from chamberlain.cli.help import CommandTable
from chamberlain.cli.names import template_id, user_ids
from chamberlain.cli.options import (
    PATIENCE,
    Body,
    Description,
    DryRun,
    GroupName,
    GroupTemplate,
    Key,
    Label,
    MemberShip,
    Metadata,
    People,
    Timeout,
    Wait,
    calls,
    takes_options,
)
from chamberlain.cli.output import Record, value_at
from chamberlain.requests.cli import Manner, submit
from chamberlain_client import operations


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOptions:
    """Options of a group or team, and of its submission."""

    display_name: GroupName = None
    template: GroupTemplate = None
    description: Description = None
    membership: MemberShip = None
    owner: People = None
    member: People = None
    label: Label = None
    metadata: Metadata = None
    body: Body = None
    dry_run: DryRun = False
    idempotency_key: Key = None
    wait: Wait = False
    timeout: Timeout = PATIENCE


# Numbers of the API.
_MEMBERSHIPS = {"private": 0, "public": 1, "dynamic": 2}
_SUMMARY = ("group.displayName", "group.mail", "group.id", "requestId")


def submit_group(call: Call, kind: str, options: GroupOptions) -> None:
    """Request a group or team, and show the result."""
    metadata = metadata_of(options.metadata or ())

    def make_body(service: Service) -> Mapping[str, object]:
        return body_of(options.body, {**_properties(service, kind, options), "metadata": metadata})

    manner = Manner(options.dry_run, options.idempotency_key, options.wait, options.timeout)
    submit(call, Area.COLLAB, operations.CREATE_GROUP, make_body, manner=manner, finished=_with_group, summary=_SUMMARY)


def _properties(service: Service, kind: str, options: GroupOptions) -> dict[str, object]:
    offered = (operations.LIST_OFFERED_GROUP_TEMPLATES, operations.LIST_OFFERED_MAILBOX_TEMPLATES)
    template = options.template
    return {
        "displayName": options.display_name,
        "templateId": template and template_id(service, template, (kind,), offered),
        "description": options.description,
        "memberShipType": options.membership and _MEMBERSHIPS[options.membership],
        "owners": user_ids(service, options.owner or (), option="--owner"),
        "members": user_ids(service, options.member or (), option="--member"),
        "labelId": options.label,
    }


def _with_group(_: Service, answer: Record, request: Record) -> Record:
    """Build the response that the API gives to `Prefer: wait`."""
    group = {name: value_at(request, f"result.{name}") for name in ("id", "displayName", "mail")}
    return {**answer, "group": group}


teams = CommandTable()


@teams.command("create")
@calls
@takes_options(GroupOptions)
def create_team(call: Call, *, options: GroupOptions) -> None:
    """Request a team.

    You become an owner, and need a licence for teams.
    """

    submit_group(call, "team", options)
