# SPDX-License-Identifier: Apache-2.0
"""Features of a room as values of one attribute. Pure.

A value is `whiteboard`, `no:whiteboard`, `audio:...` or `tag:...`. So a search for `whiteboard` finds the rooms with
one.
"""

from collections.abc import Sequence
from typing import Final

from chamberlain.core.text import clean_line
from chamberlain.directory.mailboxes import Place, RoomEquipment

_WHEEL_CHAIR: Final = "wheelChair"
_CONFERENCE_PHONE: Final = "conferencePhone"
_WHITEBOARD: Final = "whiteboard"
_VIDEO_CONFERENCING: Final = "videoConferencing"
_AUDIO, _DISPLAY, _VIDEO, _TAG, _NO = "audio", "display", "video", "tag", "no"


def with_features(present: Sequence[str], place: Place) -> Sequence[str]:
    """Return the features of a room after a change.

    Unspecified ones stay as they are.
    """
    flags = {
        _WHEEL_CHAIR: place.is_wheel_chair_accessible,
        _CONFERENCE_PHONE: place.equipment.has_conference_phone,
        _WHITEBOARD: place.equipment.has_whiteboard,
        _VIDEO_CONFERENCING: place.equipment.has_video_conferencing,
    }
    devices = {
        _AUDIO: place.audio_device_name,
        _DISPLAY: place.display_device_name,
        _VIDEO: place.video_device_name,
    }
    wanted = {word: [word if flag else f"{_NO}:{word}"] for word, flag in flags.items() if flag is not None}
    wanted |= {word: [f"{word}:{name}"] for word, name in devices.items() if name is not None}
    if place.tags:
        # The server compares values without letter case, and rejects duplicates.
        wanted[_TAG] = [f"{_TAG}:{tag}" for tag in {tag.casefold(): tag for tag in place.tags}.values()]
    kept = [each for each in present if _word(each) not in wanted]
    return [*kept, *[value for values in wanted.values() for value in values]]


def read_place(features: Sequence[str], capacity: int | None) -> Place:
    """Return the room finder entry of a room with these features."""
    return Place(
        capacity=capacity,
        audio_device_name=_first(features, _AUDIO),
        display_device_name=_first(features, _DISPLAY),
        video_device_name=_first(features, _VIDEO),
        is_wheel_chair_accessible=_flag(features, _WHEEL_CHAIR),
        tags=tuple(_texts(features, _TAG)),
        equipment=RoomEquipment(
            has_conference_phone=_flag(features, _CONFERENCE_PHONE),
            has_whiteboard=_flag(features, _WHITEBOARD),
            has_video_conferencing=_flag(features, _VIDEO_CONFERENCING),
        ),
    )


def _flag(features: Sequence[str], word: str) -> bool | None:
    return True if word in features else False if f"{_NO}:{word}" in features else None


def _first(features: Sequence[str], word: str) -> str | None:
    return next(iter(_texts(features, word)), None)


def _texts(features: Sequence[str], word: str) -> Sequence[str]:
    return [clean_line(each.removeprefix(f"{word}:")) for each in features if each.startswith(f"{word}:")]


def _word(feature: str) -> str:
    """Return the word of a feature: `whiteboard` of `no:whiteboard`, `audio` of `audio:...`."""
    first, _, second = feature.partition(":")
    return second if first == _NO else first
