"""What a dry run answers."""

from msgspec import field

from chamberlain_client.models.actors import Named, Person
from chamberlain_client.models.faults import Fault
from chamberlain_client.models.groups import MemberShipType
from chamberlain_client.models.model import Model
from chamberlain_client.models.requests import ApprovalMode, RequestKind


class RehearsedLevel(Model, frozen=True):
    """A level of approval, with those who could decide if it were open now."""

    level: int
    mode: ApprovalMode
    approvers: tuple[Person, ...]


class RehearsedStep(Model, frozen=True):
    """One step that would be taken; `title` is for people."""

    name: str
    title: str


class Rehearsal(Model, frozen=True, kw_only=True):
    """What would come of a request. `conflicts` would be refused with 409 at present."""

    kind: RequestKind
    template: Named
    template_source: str
    display_name: str
    address: str
    owners: tuple[Person, ...]
    approval_required: bool
    approvals: tuple[RehearsedLevel, ...]
    steps: tuple[RehearsedStep, ...]
    conflicts: tuple[Fault, ...]
    warnings: tuple[str, ...]
    dry_run: bool = field(default=True)


class RehearsedGroup(Rehearsal, frozen=True, kw_only=True):
    """A group or team as it would be; `member_count` is None where a rule decides who is a member."""

    mail_nickname: str
    member_ship_type: MemberShipType
    member_count: int | None


class RehearsedMailbox(Rehearsal, frozen=True, kw_only=True):
    """A mailbox as it would be."""

    name: str
