"""What comes next when a program has sent somebody: a page, or an answer at once. Pure."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from chamberlain.embedded.identity.authorization_request import Prompt, ResponseMode


class Step(StrEnum):
    """What comes next."""

    SIGN_IN = "sign_in"
    # Somebody is signed in, and says whether it is the right one.
    CONFIRM = "confirm"
    ANSWER = "answer"
    LOGIN_REQUIRED = "login_required"
    INTERACTION_REQUIRED = "interaction_required"


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who is signed in, in the organisation that the program asks, and since when."""

    address: str
    age: timedelta


@dataclass(frozen=True, slots=True)
class Asked:
    """What of a request decides. `is_native`: any program on the person's machine could have sent it."""

    prompts: AbstractSet[Prompt]
    max_age: int | None
    login_hint: str
    is_native: bool
    mode: ResponseMode


def next_step(asked: Asked, signed_in: SignedIn | None) -> Step:
    """A program that may be any other gets its answer only when the person does something (RFC 8252, 8.6): on a page
    that asks, or, where the answer is a form, by sending that."""
    is_enough = signed_in is not None and _will_do(asked, signed_in)
    if Prompt.NONE in asked.prompts:
        if not is_enough:
            return Step.LOGIN_REQUIRED
        return Step.INTERACTION_REQUIRED if asked.is_native else Step.ANSWER
    if Prompt.LOGIN in asked.prompts or not is_enough:
        return Step.SIGN_IN
    if asked.prompts or (asked.is_native and asked.mode is not ResponseMode.FORM_POST):
        return Step.CONFIRM
    return Step.ANSWER


def _will_do(asked: Asked, signed_in: SignedIn) -> bool:
    is_recent = asked.max_age is None or signed_in.age <= timedelta(seconds=asked.max_age)
    return is_recent and asked.login_hint.lower() in ("", signed_in.address.lower())
