"""What can be said of a group or a team that is asked for."""

from dataclasses import dataclass

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
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOptions:
    """The properties, and how it is asked for."""

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
