# SPDX-License-Identifier: Apache-2.0
import pytest

from chamberlain.directory.mailboxes import Place, RoomEquipment
from chamberlain.directory.opensuite.room_features import read_place, with_features

pytestmark = pytest.mark.pure

WHOLE = Place(
    capacity=12,
    audio_device_name="Horn",
    display_device_name="Screen: left",
    video_device_name="Eye",
    is_wheel_chair_accessible=True,
    tags=("quiet", "bright: very"),
    equipment=RoomEquipment(has_conference_phone=True, has_whiteboard=False),
)


def test_it_works() -> None:
    features = with_features([], WHOLE)

    assert set(features) == {
        "wheelChair",
        "conferencePhone",
        "no:whiteboard",
        "audio:Horn",
        "display:Screen: left",
        "video:Eye",
        "tag:quiet",
        "tag:bright: very",
    }
    assert read_place(features, 12) == WHOLE


def test_unspecified_features_stay() -> None:
    change = Place(tags=("loud",), equipment=RoomEquipment(has_whiteboard=True))

    place = read_place(with_features(with_features([], WHOLE), change), 12)

    assert place.tags == ("loud",)
    assert place.equipment == RoomEquipment(has_conference_phone=True, has_whiteboard=True)
    assert (place.audio_device_name, place.is_wheel_chair_accessible) == ("Horn", True)


def test_features_of_other_programs_stay() -> None:
    assert with_features(["projector", "floor:5", "no:smoking"], Place(tags=("quiet",))) == [
        "projector",
        "floor:5",
        "no:smoking",
        "tag:quiet",
    ]


def test_a_room_without_features() -> None:
    assert with_features([], Place()) == []
    assert read_place([], None) == Place()


def test_tags_that_differ_in_letter_case_are_one() -> None:
    # The server would reject both.
    assert len(with_features([], Place(tags=("Quiet", "quiet", "bright")))) == 2
