"""Groups and teams that are adopted: what is read of the one that is there, and what stands against taking it."""

from collections.abc import Iterator
from dataclasses import dataclass

from chamberlain.adoptions.models import ALREADY_MANAGED, Candidate, Obstacle, type_differs
from chamberlain.core.ids import TemplateId, UserId
from chamberlain.directory.groups import MemberShipType, ObservedGroup
from chamberlain.directory.steps import Step
from chamberlain.groups.models import GroupOrder
from chamberlain.guests.subjects.models import SubjectEntry
from chamberlain.templates.models import GroupTemplate, TemplateKind

# A body names at most so many owners (docs/reference/api.md).
MOST_OWNERS = 100


@dataclass(frozen=True, slots=True)
class AdoptedGroup:
    """The order that would have made a group as it is, and the owner who stands for whoever asked for it."""

    order: GroupOrder
    owner: UserId


def group_candidate(entry: SubjectEntry, template: GroupTemplate) -> Candidate:
    """What is to be said of a group that a filter names. Who owns it and what it shows else is read when it is taken;
    so `differences` are all that the template asks for."""
    obstacle = _obstacle(entry, template)
    return Candidate(
        id=entry.id,
        display_name=entry.display_name,
        mail=entry.mail,
        held=() if entry.mail is None else (("address", entry.mail.lower()),),
        obstacle=obstacle,
        differences=() if obstacle else tuple(_asked_for(entry, template)),
    )


def adopted_group(
    observed: ObservedGroup, kind: TemplateKind, template_id: TemplateId, member_ship_type: MemberShipType
) -> AdoptedGroup | Obstacle:
    """What is recorded of a group. Nothing is said of its members: they come and go without us."""
    is_team = observed.channels is not None
    if is_team is not (kind is TemplateKind.TEAM):
        return type_differs(kind, "team" if is_team else "group")
    if not observed.owners:
        detail = "Nobody owns it, and what is managed has an owner. Give it one in the directory, and take it then."
        return Obstacle("noOwner", detail)
    owners = sorted(observed.owners)[:MOST_OWNERS]
    order = GroupOrder(
        display_name=observed.display_name,
        template_id=template_id,
        member_ship_type=member_ship_type,
        owners=tuple(owners),
        label_id=observed.label_id,
    )
    return AdoptedGroup(order, owners[0])


def _obstacle(entry: SubjectEntry, template: GroupTemplate) -> Obstacle | None:
    if entry.request_id is not None:
        return ALREADY_MANAGED
    if entry.is_team is not (template.head.kind is TemplateKind.TEAM):
        return type_differs(template.head.kind, "team" if entry.is_team else "group")
    if entry.mail is None:
        return Obstacle("noAddress", "It has no mail address, and what is managed has one.")
    if not _may_join_so(entry.member_ship_type, template):
        detail = "People join it in another way than the template makes groups that they join."
        return Obstacle("memberShipTypeDiffers", f"{detail} Use a template that has this memberShipType.")
    return None


def _asked_for(entry: SubjectEntry, template: GroupTemplate) -> Iterator[Step]:
    if template.owners:
        yield Step.ADD_OWNERS
    if template.members and entry.member_ship_type is not MemberShipType.DYNAMIC:
        yield Step.ADD_MEMBERS
    if template.label_id is not None:
        yield Step.SET_LABEL
    if entry.is_team and template.channels:
        yield Step.CREATE_CHANNELS


def _may_join_so(shown: MemberShipType, template: GroupTemplate) -> bool:
    if shown is MemberShipType.DYNAMIC and template.membership_rule is None:
        return False
    return shown == template.member_ship_type or template.member_ship_type_changeable
