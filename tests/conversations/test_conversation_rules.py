# SPDX-License-Identifier: Apache-2.0
"""Words and reactions that decide, and the questions that they are about."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.conversations.matrix import parse_event
from chamberlain.conversations.models import Choice, Message, NoChoice, Question, Reaction
from chamberlain.conversations.rules import OFFERED, find_question, read_choice, without_quote
from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.directory.opensuite.matrix import RoomEvent
from chamberlain.requests.rules import Action

pytestmark = pytest.mark.pure
ROOM, DARA = "!room:estate.example", "@dara:estate.example"
QUESTION = Question(
    TenantId(UUID(int=1)),
    RequestId(UUID(int=2)),
    1,
    UserId(UUID(int=3)),
    DARA,
    ROOM,
    "$question",
    datetime(2026, 11, 20, tzinfo=UTC),
)
QUOTE = "> <@chamberlain:estate.example> Your approval is needed\n> Please approve or reject it.\n\n"


def message(text: str, about: str | None = "$question") -> Message:
    return Message("$answer", ROOM, DARA, about, text)


def reaction(key: str) -> Reaction:
    return Reaction("$answer", ROOM, DARA, "$question", key)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (reaction(OFFERED), Choice(Action.APPROVE)),
        (reaction("\N{THUMBS UP SIGN}"), Choice(Action.APPROVE)),
        (reaction("\N{THUMBS UP SIGN}\U0001f3fd"), Choice(Action.APPROVE)),
        (reaction("\N{HEAVY CHECK MARK}\ufe0f"), Choice(Action.APPROVE)),
        (reaction("\N{CROSS MARK}"), NoChoice.REASON_MISSING),
        (reaction("\N{THUMBS DOWN SIGN}"), NoChoice.REASON_MISSING),
        (reaction("\N{PARTY POPPER}"), None),
        (reaction(""), None),
        (message("approve"), Choice(Action.APPROVE)),
        (message("Approved."), Choice(Action.APPROVE)),
        (message("genehmigen"), Choice(Action.APPROVE)),
        (message(f"{QUOTE}approve"), Choice(Action.APPROVE)),
        (message("reject: There is such a group."), Choice(Action.REJECT, "There is such a group.")),
        (message(f"{QUOTE}ablehnen: Gibt es schon."), Choice(Action.REJECT, "Gibt es schon.")),
        (message("reject:"), NoChoice.UNCLEAR),
        (message("reject"), NoChoice.UNCLEAR),
        (message("please do"), NoChoice.UNCLEAR),
        (message("I do not approve"), NoChoice.UNCLEAR),
        (message(""), NoChoice.UNCLEAR),
    ],
)
def test_it_reads(said: Message | Reaction, expected: Choice | NoChoice | None) -> None:
    assert read_choice(said) == expected


def test_a_quote_is_removed_at_the_beginning_only() -> None:
    assert without_quote(f"{QUOTE}reject: no\n> quoted") == "\nreject: no\n> quoted"


@pytest.mark.parametrize(
    ("said", "is_about"),
    [
        (message("approve"), True),
        (reaction(OFFERED), True),
        (message("approve", None), False),
        (message("approve", "$another"), False),
        (Message("$answer", ROOM, "@eve:estate.example", "$question", "approve"), False),
        (Message("$answer", "!other:estate.example", DARA, "$question", "approve"), False),
    ],
)
def test_only_the_asked_user_answers_in_the_room(said: Message | Reaction, *, is_about: bool) -> None:
    assert find_question(said, [QUESTION]) == (QUESTION if is_about else None)


@pytest.mark.parametrize(
    ("type_", "content", "expected"),
    [
        ("m.room.message", {"msgtype": "m.text", "body": "approve"}, message("approve", None)),
        (
            "m.room.message",
            {"msgtype": "m.text", "body": "approve", "m.relates_to": {"m.in_reply_to": {"event_id": "$question"}}},
            message("approve"),
        ),
        (
            "m.room.message",
            {
                "msgtype": "m.text",
                "body": "* approve",
                "m.relates_to": {"rel_type": "m.replace", "event_id": "$answer"},
            },
            None,
        ),
        ("m.room.message", {"msgtype": "m.image", "body": "approve"}, None),
        ("m.room.message", {}, None),
        (
            "m.reaction",
            {"m.relates_to": {"rel_type": "m.annotation", "event_id": "$question", "key": OFFERED}},
            reaction(OFFERED),
        ),
        ("m.reaction", {"m.relates_to": {"event_id": 7, "key": OFFERED}}, None),
        ("m.reaction", {"m.relates_to": "x"}, None),
    ],
)
def test_events_of_matrix(type_: str, content: dict[str, object], expected: Message | Reaction | None) -> None:
    assert parse_event(ROOM, RoomEvent("$answer", type_, DARA, content)) == expected
