# SPDX-License-Identifier: Apache-2.0
import inspect

import pytest

from chamberlain.cli.option_names import GivenOptions, option_names
from chamberlain.guests.cli import create_group, list_groups
from chamberlain.mailboxes.cli import create_mailbox, list_mailboxes
from chamberlain.requests.cli import assign_approvers

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("command", "values", "pointer", "place"),
    [
        (create_mailbox, {"capacity": 0}, "/capacity", "--capacity"),
        (create_mailbox, {"template": "Room"}, "/templateId", "--template"),
        (create_mailbox, {"display_name": "x"}, "/displayName", "--display-name"),
        (create_mailbox, {"wheel_chair_accessible": True}, "/isWheelChairAccessible", "--wheel-chair-accessible"),
        (create_mailbox, {"whiteboard": True}, "/roomMailboxMetadata/hasWhiteboard", "--whiteboard"),
        (create_mailbox, {"hide_from_gal": True}, "/hideFromGAL", "--hide-from-gal"),
        (create_mailbox, {"tag": ["a", "b"]}, "/tags/1", "--tag b"),
        (create_mailbox, {"metadata": ["floor=5"]}, "/metadata/floor", "--metadata"),
        (create_mailbox, {"permission": ["x=SendAs"]}, "/permissions/ada00000-0000", "--permission"),
        (create_mailbox, {"street_address": "x"}, "/streetAddress", "--street-address"),
        (create_group, {"membership": "public"}, "/memberShipType", "--membership"),
        (create_group, {"owner": ["ada@x", "ben@x"]}, "/owners/1", "--owner ben@x"),
        (create_group, {"label": "x"}, "/labelId", "--label"),
        (list_groups, {"query": "x"}, "/q", "--query"),
        (list_mailboxes, {"state": "x"}, "/provisioningState", "--state"),
        (assign_approvers, {"approver": ["x"]}, "/userIds/0", "--approver x"),
    ],
)
def test_it_works(command: object, values: dict[str, object], pointer: str, place: str) -> None:
    assert callable(command)
    names = option_names(inspect.signature(command).parameters.values())

    assert GivenOptions(names, values).place_of(pointer, "invalid") == place


def test_a_property_of_a_file_keeps_its_pointer() -> None:
    names = option_names(inspect.signature(create_mailbox).parameters.values())
    given = GivenOptions(names, {"body": "room.json", "capacity": None})

    assert given.place_of("/capacity", "invalid") == "/capacity"
    assert given.place_of("/name", "missingProperty") == "/name"
    assert given.place_of("", "invalid") == "/"


def test_a_missing_property_has_its_option() -> None:
    names = option_names(inspect.signature(create_mailbox).parameters.values())

    assert GivenOptions(names, {"name": None}).place_of("/name", "missingProperty") == "--name"
    assert GivenOptions(names, {"template": None}).place_of("/templateId", "typeNotRecognised") == "--template"
    assert GivenOptions(names, {"body": "x.json"}).place_of("/templateId", "typeNotRecognised") == "/templateId"
