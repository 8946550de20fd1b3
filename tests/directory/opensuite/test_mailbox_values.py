# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from chamberlain.directory.mailboxes import AddressFields, PermissionLevel, Place, plan_mailbox
from chamberlain.directory.opensuite.entry import differences
from chamberlain.directory.opensuite.mailbox_values import changed_values, recorded_values
from chamberlain.directory.port import MailboxWork, Work
from chamberlain.directory.steps import Step
from tests.directory.mailbox_work import Changes, Make, each_type, equipment, plain, room, shared
from tests.directory.opensuite.mailbox_entry import change_of, dns, entry_of, new_entry, with_values
from tests.directory.sample_directory import ADA, BEN, CLEO

pytestmark = pytest.mark.pure

FULL_ACCESS, SEND_AS = PermissionLevel.FULL_ACCESS, PermissionLevel.SEND_AS


def test_it_works() -> None:
    work = shared(mail="Quay@estate.example", name="Quay 12", aliases=("pier@estate.example",))

    entry = new_entry(work)

    assert entry.all("objectClass") == ("inetOrgPerson", "chamberlainMailbox")
    assert entry.all("uid") == ("quay@estate.example",)
    assert entry.all("chamberlainName") == ("Quay 12",)
    assert entry.all("chamberlainAddress") == ("Quay@estate.example", "pier@estate.example")
    assert entry.all("chamberlainRequestId") == (str(work.wanted.request_id),)
    assert entry.all("chamberlainMark") == ("extension=chamberlain_mailbox",)
    assert entry.all("chamberlainSendAs") == dns(BEN)
    assert entry.all("owner") == dns(CLEO, ADA)
    assert (entry.number("chamberlainQuota"), entry.flag("chamberlainHidden")) == (500, True)


@each_type
def test_a_new_entry_does_not_claim_the_part_of_dovecot(make: Make) -> None:
    entry = new_entry(make())

    assert entry.all("chamberlainFullAccess") == entry.all("chamberlainAutoMapped") == ()
    if entry.one("chamberlainType") == "shared":
        assert entry.one("chamberlainAutomaticReply") is None


@each_type
def test_a_new_entry_needs_no_change(make: Make) -> None:
    work = make()
    entry = new_entry(work)

    assert differences(entry, changed_values(change_of(work, entry))) == {}


@each_type
def test_recorded_values_need_no_change(make: Make) -> None:
    work = make()
    entry = new_entry(work)
    recorded = with_values(entry, recorded_values(change_of(work, entry)))

    assert differences(recorded, recorded_values(change_of(work, recorded))) == {}


@pytest.mark.parametrize(
    ("work", "kind", "bookings"),
    [
        (room(), "location", "1"),
        (equipment(capacity=3), "thing", "3"),
        (equipment(capacity=None), "thing", "1"),
        (equipment(capacity=0), "thing", "1"),
        (room(books_automatically=False), None, None),
        (shared(), None, None),
    ],
)
def test_bookings(work: MailboxWork, kind: str | None, bookings: str | None) -> None:
    entry = new_entry(work)

    assert (entry.one("chamberlainKind"), entry.one("chamberlainBookings")) == (kind, bookings)


def test_a_new_capacity_of_equipment_is_its_number_of_bookings() -> None:
    entry = new_entry(equipment(capacity=3))
    work = Work(equipment(capacity=5).wanted, (Step.SET_CAPACITY,))

    changed = differences(entry, changed_values(change_of(work, entry)))

    assert changed == {"chamberlainCapacity": ["5"], "chamberlainBookings": ["5"]}


def test_automatic_booking_ends() -> None:
    entry = new_entry(room())
    work = Work(room(books_automatically=False).wanted, (Step.SET_BOOKING,))

    changed = differences(entry, changed_values(change_of(work, entry)))

    assert changed == {"chamberlainKind": [], "chamberlainBookings": []}


@pytest.mark.parametrize(
    "changes",
    [
        Changes(),
        Changes(address_fields=AddressFields(), permissions={}, owners=()),
        Changes(automatic_reply=None, quota_megabytes=None, is_hidden=None, aliases=()),
    ],
)
def test_unspecified_properties_stay(changes: Changes) -> None:
    before = shared()
    entry = new_entry(before)
    same = Changes(request_id=before.wanted.request_id, mail=before.wanted.mail, name=before.wanted.name)
    work = plain(**(same | changes))

    assert differences(entry, changed_values(change_of(work, entry))) == {}


def test_only_the_steps_of_the_work_change_something() -> None:
    entry = new_entry(plain(display_name="Harbour"))
    wanted = shared(display_name="Quay").wanted

    for step in plan_mailbox(wanted, people_checked=True):
        changed = differences(entry, changed_values(change_of(Work(wanted, (step,)), entry)))
        assert "displayName" not in changed
        if step is not Step.SET_ADDRESS_FIELDS:
            assert "street" not in changed
    renamed = changed_values(change_of(Work(wanted, (Step.SET_PROPERTIES,)), entry))
    assert differences(entry, renamed) == {"displayName": ["Quay"], "cn": ["Quay"]}


def test_an_alias_is_added_once() -> None:
    entry = new_entry(plain(mail="quay@estate.example", aliases=("Pier@estate.example",)))
    work = plain(
        mail="quay@estate.example", aliases=("pier@estate.example", "slip@estate.example", "QUAY@estate.example")
    )

    addresses = changed_values(change_of(work, entry))["chamberlainAddress"]

    assert list(addresses) == ["quay@estate.example", "Pier@estate.example", "slip@estate.example"]


def test_permissions_of_named_users_are_replaced() -> None:
    entry = with_values(
        new_entry(plain()),
        {
            "chamberlainFullAccess": dns(ADA, CLEO),
            "chamberlainAutoMapped": dns(ADA, CLEO),
            "chamberlainSendAs": [*dns(BEN), "uid=else,ou=people,dc=estate,dc=example"],
        },
    )
    work = plain(permissions={ADA: SEND_AS, BEN: FULL_ACCESS}, auto_mapping=False)

    before, after = changed_values(change_of(work, entry)), recorded_values(change_of(work, entry))

    assert list(before["chamberlainSendAs"]) == ["uid=else,ou=people,dc=estate,dc=example", *dns(ADA)]
    # The work does not name Cleo.
    assert list(after["chamberlainFullAccess"]) == [*dns(CLEO, BEN)]
    assert list(after["chamberlainAutoMapped"]) == [*dns(CLEO)]


def test_revoked_users_lose_everything() -> None:
    entry = with_values(
        new_entry(plain()),
        {"chamberlainFullAccess": dns(ADA), "chamberlainAutoMapped": dns(ADA), "chamberlainSendAs": dns(BEN)},
    )
    work = plain(revoked=frozenset({ADA, BEN}))

    assert changed_values(change_of(work, entry))["chamberlainSendAs"] == []
    after = recorded_values(change_of(work, entry))
    assert (after["chamberlainFullAccess"], after["chamberlainAutoMapped"]) == ([], [])


def test_an_adopted_mailbox_becomes_one_of_ours_with_its_first_change() -> None:
    entry = entry_of(
        {"objectClass": ["inetOrgPerson", "chamberlainManaged"], "uid": ["quay"], "mail": ["quay@estate.example"]}
    )
    work = Work(shared(mail="quay@estate.example").wanted, (Step.SET_QUOTA,))

    changed = differences(entry, changed_values(change_of(work, entry)))

    assert changed == {
        "objectClass": ["inetOrgPerson", "chamberlainManaged", "chamberlainMailbox"],
        "chamberlainType": ["shared"],
        "chamberlainAddress": ["quay@estate.example"],
        "chamberlainQuota": ["500"],
    }


def test_the_name_of_an_entry_stays() -> None:
    work = Work(shared(display_name="New").wanted, (Step.SET_PROPERTIES,))
    entry = replace(new_entry(shared(display_name="Old")), dn="CN=Old,ou=mailboxes,dc=estate,dc=example")

    changed = differences(entry, changed_values(change_of(work, entry)))

    # slapd refuses to change a value that is part of the name.
    assert changed == {"displayName": ["New"]}


def test_a_capacity_in_words_is_no_number() -> None:
    work = Work(equipment().wanted, (Step.SET_BOOKING,))
    entry = with_values(new_entry(equipment()), {"chamberlainCapacity": ["three units"]})

    assert changed_values(change_of(work, entry))["chamberlainBookings"] == ["1"]


def test_empty_texts_are_stored_as_a_space() -> None:
    entry = new_entry(plain(address_fields=AddressFields(notes="", business_phones=("1",))))

    assert (entry.one("description"), entry.all("chamberlainBusinessPhone")) == (" ", ("1",))


def test_a_capacity_of_a_room_is_that_of_its_place() -> None:
    entry = new_entry(room(place=Place(capacity=8)))

    assert (entry.number("chamberlainCapacity"), entry.one("chamberlainBookings")) == (8, "1")
