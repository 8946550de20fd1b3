"""Mailboxes in the words of both sides: ours, and those of the embedded directory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from chamberlain.directory.embedded.errors import passing, refusal_of
from chamberlain.directory.embedded.groups import KEY_MEMBER, request_object_id
from chamberlain.directory.embedded.steps import walk
from chamberlain.directory.port import MailboxOutcome, MailboxWork
from chamberlain.embedded.directory.entries import Ensured, Mark
from chamberlain.embedded.directory.errors import Refused
from chamberlain.embedded.directory.faults import FaultyMailboxes
from chamberlain.embedded.directory.mailboxes import Contact, MailboxEntry, Mailboxes, MailboxShown, Permission
from chamberlain.embedded.directory.mailboxes import Place as PlaceEntry
from chamberlain.rules.ids import UserId
from chamberlain.rules.lines import clean_line, clean_lines
from chamberlain.rules.mailbox_plans import remaining_of_mailbox
from chamberlain.rules.mailboxes import (
    AddressFields,
    MailboxReference,
    MailboxType,
    ObservedMailbox,
    PermissionLevel,
    Place,
    RoomEquipment,
    WantedMailbox,
)
from chamberlain.rules.plans import Step

_RECIPIENT_TYPES: Mapping[MailboxType, str] = MappingProxyType(
    {
        MailboxType.SHARED: "SharedMailbox",
        MailboxType.ROOM: "RoomMailbox",
        MailboxType.EQUIPMENT: "EquipmentMailbox",
    }
)
_TYPES = {recipient_type: mailbox_type for mailbox_type, recipient_type in _RECIPIENT_TYPES.items()}

# What a calendar does that accepts every invitation for which there is room.
_ACCEPTS = "AutoAccept"


def mark_of_mailbox(reference: MailboxReference) -> Mark:
    """How the directory finds a mailbox again."""
    return Mark(reference.tenant_id, reference.extension, str(reference.request_id))


def mailbox_entry_of(wanted: WantedMailbox) -> MailboxEntry:
    """A mailbox as the directory is to have it. What rooms and equipment reply stands with their calendars."""
    reference = MailboxReference(wanted.tenant_id, wanted.extension, wanted.request_id)
    is_shared = wanted.type is MailboxType.SHARED
    return MailboxEntry(
        mark=mark_of_mailbox(reference),
        id=request_object_id(wanted.tenant_id, wanted.extension, wanted.request_id),
        recipient_type=_RECIPIENT_TYPES[wanted.type],
        name=wanted.name,
        display_name=wanted.display_name,
        mail=wanted.mail,
        values={**wanted.marks, KEY_MEMBER: str(wanted.request_id)},
        aliases=wanted.aliases,
        properties=_properties(wanted.address_fields),
        contact=Contact(
            phone=wanted.address_fields.phone,
            business_phones=wanted.address_fields.business_phones,
            notes=wanted.address_fields.notes,
        ),
        place=None if wanted.place is None else _place_entry(wanted.place),
        resource_capacity=wanted.capacity if wanted.place is None else wanted.place.capacity,
        automate_processing=_ACCEPTS if wanted.books_automatically else None,
        additional_response=None if is_shared else wanted.automatic_reply,
        automatic_reply=wanted.automatic_reply if is_shared else None,
        quota_megabytes=wanted.quota_megabytes,
        is_hidden=wanted.is_hidden,
        owners=wanted.owners,
        permissions={user: _permission(level, wanted) for user, level in wanted.permissions.items()},
        revoked=wanted.revoked,
    )


def observed_mailbox_of(shown: MailboxShown) -> ObservedMailbox:
    """A mailbox as the directory shows it."""
    mailbox_type = _TYPES[shown.recipient_type]
    is_shared = mailbox_type is MailboxType.SHARED
    return ObservedMailbox(
        id=shown.id,
        type=mailbox_type,
        name=clean_line(shown.name),
        display_name=clean_line(shown.display_name),
        mail=clean_line(shown.mail),
        aliases=tuple(map(clean_line, shown.aliases)),
        address_fields=_address_fields(shown),
        place=None if shown.place is None else _place(shown.place, shown.resource_capacity),
        books_automatically=shown.automate_processing == _ACCEPTS,
        automatic_reply=_clean_lines(shown.automatic_reply if is_shared else shown.additional_response),
        quota_megabytes=shown.quota_megabytes,
        capacity=shown.resource_capacity if mailbox_type is MailboxType.EQUIPMENT else None,
        is_hidden=shown.is_hidden,
        permissions={UserId(user): PermissionLevel(one.access_right) for user, one in shown.permissions.items()},
        auto_mapped=frozenset(UserId(user) for user, one in shown.permissions.items() if one.auto_mapping),
        owners=tuple(map(UserId, shown.owners)),
        marks=shown.values,
    )


def _permission(level: PermissionLevel, wanted: WantedMailbox) -> Permission:
    has_full_access = level is PermissionLevel.FULL_ACCESS
    return Permission(access_right=level.value, auto_mapping=has_full_access and wanted.auto_mapping)


def _properties(fields: AddressFields) -> Mapping[str, str]:
    named = {
        "streetAddress": fields.street_address,
        "officeLocation": fields.office_location,
        "companyName": fields.company_name,
        "postalCode": fields.postal_code,
        "city": fields.city,
        "country": fields.country,
        "department": fields.department,
    }
    return {name: value for name, value in named.items() if value is not None}


def _address_fields(shown: MailboxShown) -> AddressFields:
    contact = shown.contact
    properties = {name: clean_line(value) for name, value in shown.properties.items()}
    return AddressFields(
        street_address=properties.get("streetAddress"),
        office_location=properties.get("officeLocation"),
        company_name=properties.get("companyName"),
        postal_code=properties.get("postalCode"),
        city=properties.get("city"),
        country=properties.get("country"),
        phone=_clean_line(contact.phone),
        department=properties.get("department"),
        business_phones=tuple(map(clean_line, contact.business_phones)),
        notes=_clean_lines(contact.notes),
    )


def _clean_line(text: str | None) -> str | None:
    return None if text is None else clean_line(text)


def _clean_lines(text: str | None) -> str | None:
    return None if text is None else clean_lines(text)


def _place_entry(place: Place) -> PlaceEntry:
    return PlaceEntry(
        audio_device_name=place.audio_device_name,
        display_device_name=place.display_device_name,
        video_device_name=place.video_device_name,
        is_wheel_chair_accessible=place.is_wheel_chair_accessible,
        tags=place.tags,
        has_conference_phone=place.equipment.has_conference_phone,
        has_whiteboard=place.equipment.has_whiteboard,
        has_video_conferencing=place.equipment.has_video_conferencing,
    )


def _place(entry: PlaceEntry, capacity: int | None) -> Place:
    return Place(
        capacity=capacity,
        audio_device_name=_clean_line(entry.audio_device_name),
        display_device_name=_clean_line(entry.display_device_name),
        video_device_name=_clean_line(entry.video_device_name),
        is_wheel_chair_accessible=entry.is_wheel_chair_accessible,
        tags=tuple(map(clean_line, entry.tags)),
        equipment=RoomEquipment(
            has_conference_phone=entry.has_conference_phone,
            has_whiteboard=entry.has_whiteboard,
            has_video_conferencing=entry.has_video_conferencing,
        ),
    )


class WholeMailboxes:
    """Makes mailboxes, each whole or not at all."""

    def __init__(self, mailboxes: Mailboxes) -> None:
        self._mailboxes = mailboxes

    async def observe(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """What the directory shows of each."""
        with passing():
            shown = await self._mailboxes.observe([mark_of_mailbox(one) for one in references])
        return [None if one is None else observed_mailbox_of(one) for one in shown]

    async def ensure(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        """Bring each about; the same mailbox asked for twice in one batch is one mailbox."""
        wanted = [mailbox_entry_of(work.wanted) for work in works]
        unique = list({entry.mark: entry for entry in wanted}.values())
        with passing():
            ensured = await self._mailboxes.ensure(unique)
            by_mark = {entry.mark: one for entry, one in zip(unique, ensured, strict=True)}
            described = {entry.mark: entry for work, entry in zip(works, wanted, strict=True) if _describes(work)}
            by_mark |= await self._describe([one for mark, one in described.items() if by_mark[mark].fault is None])
        return [_outcome(work, by_mark[entry.mark]) for work, entry in zip(works, wanted, strict=True)]

    async def _describe(self, entries: Sequence[MailboxEntry]) -> Mapping[Mark, Ensured[MailboxShown]]:
        """Have these called as they are wanted."""
        await self._mailboxes.describe(entries)
        shown = await self._mailboxes.observe([entry.mark for entry in entries])
        return {entry.mark: Ensured(one, None) for entry, one in zip(entries, shown, strict=True)}


def _describes(work: MailboxWork) -> bool:
    return Step.SET_PROPERTIES in work.steps


def _outcome(work: MailboxWork, ensured: Ensured[MailboxShown]) -> MailboxOutcome:
    mailbox = None if ensured.shown is None else observed_mailbox_of(ensured.shown)
    if ensured.fault is None:
        return MailboxOutcome(mailbox=mailbox, done=work.steps, fault=None)
    done, fault = refusal_of(ensured.fault, work.steps)
    return MailboxOutcome(mailbox=mailbox, done=done, fault=fault)


class MailboxSteps:
    """Makes mailboxes step by step. What stops a step is told for that mailbox alone; the next run goes on there."""

    def __init__(self, mailboxes: FaultyMailboxes) -> None:
        self._mailboxes = mailboxes

    async def observe(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """What is visible of each by now."""
        with passing():
            shown = await self._mailboxes.observe([mark_of_mailbox(one) for one in references])
        return [None if one is None else observed_mailbox_of(one) for one in shown]

    async def ensure(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        """Take the steps of each, one after the other, as far as they go; no others."""
        unique = {mark_of_mailbox(_reference(work)): work for work in works}
        mailboxes = await self.observe([_reference(work) for work in unique.values()])
        outcomes = {
            mark: await self._bring_about(work, mailbox)
            for (mark, work), mailbox in zip(unique.items(), mailboxes, strict=True)
        }
        return [outcomes[mark_of_mailbox(_reference(work))] for work in works]

    async def _bring_about(self, work: MailboxWork, mailbox: ObservedMailbox | None) -> MailboxOutcome:
        """What comes of one that looks like `mailbox` at the beginning."""
        entry = mailbox_entry_of(work.wanted)
        walked = await walk(
            work.steps,
            remaining_of_mailbox(work.wanted, mailbox, work.steps),
            lambda step: self._take(step, entry),
            lambda: self._mailboxes.find(entry.mark),
        )
        shown = mailbox if walked.shown is None else observed_mailbox_of(walked.shown)
        made = entry.id if Step.CREATE_MAILBOX in walked.taken else None
        return MailboxOutcome(shown, walked.done, walked.fault, made)

    async def _take(self, step: Step, entry: MailboxEntry) -> None:
        match step:
            case Step.CHECK_PEOPLE:
                await self._check_people(entry)
            case Step.CREATE_MAILBOX:
                await self._mailboxes.create(entry, _bare(entry))
            case Step.SET_PROPERTIES:
                await self._mailboxes.describe(entry)
            case _:
                await self._mailboxes.change(_PARTS[step](_bare(entry), entry))

    async def _check_people(self, entry: MailboxEntry) -> None:
        try:
            await self._mailboxes.check(entry)
        except Refused as refused:
            if refused.code == "userUnknown":
                raise


def _reference(work: MailboxWork) -> MailboxReference:
    return MailboxReference(work.wanted.tenant_id, work.wanted.extension, work.wanted.request_id)


def _bare(entry: MailboxEntry) -> MailboxEntry:
    """The mailbox without all that later steps bring."""
    return MailboxEntry(
        mark=entry.mark,
        id=entry.id,
        recipient_type=entry.recipient_type,
        name=entry.name,
        display_name=entry.display_name,
        mail=entry.mail,
        values=entry.values,
    )


# What each step changes of a mailbox that is there.
_PARTS: Mapping[Step, Callable[[MailboxEntry, MailboxEntry], MailboxEntry]] = {
    Step.SET_ADDRESS_FIELDS: lambda bare, entry: replace(bare, properties=entry.properties, contact=entry.contact),
    Step.SET_PLACE: lambda bare, entry: replace(bare, place=entry.place, resource_capacity=entry.resource_capacity),
    Step.SET_BOOKING: lambda bare, entry: replace(bare, automate_processing=entry.automate_processing),
    Step.SET_AUTOMATIC_REPLY: lambda bare, entry: replace(
        bare, additional_response=entry.additional_response, automatic_reply=entry.automatic_reply
    ),
    Step.SET_QUOTA: lambda bare, entry: replace(bare, quota_megabytes=entry.quota_megabytes),
    Step.SET_CAPACITY: lambda bare, entry: replace(bare, resource_capacity=entry.resource_capacity),
    Step.SET_VISIBILITY: lambda bare, entry: replace(bare, is_hidden=entry.is_hidden),
    Step.SET_ALIASES: lambda bare, entry: replace(bare, aliases=entry.aliases),
    Step.SET_PERMISSIONS: lambda bare, entry: replace(bare, permissions=entry.permissions, revoked=entry.revoked),
    Step.SET_OWNERS: lambda bare, entry: replace(bare, owners=entry.owners),
}
