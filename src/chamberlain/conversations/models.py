# SPDX-License-Identifier: Apache-2.0
"""Questions to approvers, and what they answer."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.requests.rules import Action


class QuestionState(StrEnum):
    """State of a question.

    A `closed` one was answered, or its request waits for another decision now. An `unreachable` approver has no account
    in the chat.
    """

    ASKED = "asked"
    CLOSED = "closed"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Pending:
    """A user who has to decide on a request.

    The user may not have been asked about its level. `asked_levels` are those of earlier questions.
    """

    request_id: RequestId
    user: UserId
    asked_levels: frozenset[int]


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a user about one level of a request.

    `address` is the id of the user in the chat, `event` that of the message.
    """

    tenant_id: TenantId
    request_id: RequestId
    level: int
    user: UserId
    address: str
    room: str
    event: str
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class Reaction:
    """A reaction to a message."""

    id: str
    room: str
    sender: str
    about: str
    key: str


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a user.

    `about` is the message that it replies to, None if there is none.
    """

    id: str
    room: str
    sender: str
    about: str | None
    text: str


Said: TypeAlias = Reaction | Message


@dataclass(frozen=True, slots=True)
class Received:
    """Answers in rooms, in their order.

    `position` is that of later ones.
    """

    said: tuple[Said, ...]
    position: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The decision in an answer. A rejection has a reason."""

    action: Action
    reason: str | None = None


class NoChoice(StrEnum):
    """Reason why an answer decides nothing: the sentence to return."""

    UNCLEAR = "unclear"
    REASON_MISSING = "reasonMissing"
