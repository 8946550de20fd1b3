# SPDX-License-Identifier: Apache-2.0
from datetime import timedelta

import pytest

from chamberlain.embedded.identity.authorization_endpoint import Conditions, SignedIn, Step, next_step
from chamberlain.embedded.identity.authorization_request import Prompt, ResponseMode

ADA = SignedIn("ada@estate.example", timedelta(minutes=5))
QUERY, FORM_POST = ResponseMode.QUERY, ResponseMode.FORM_POST
NONE, LOGIN, SELECT, CONSENT = Prompt.NONE, Prompt.LOGIN, Prompt.SELECT_ACCOUNT, Prompt.CONSENT


@pytest.mark.parametrize(
    ("prompts", "max_age", "hint", "is_native", "mode", "signed_in", "step"),
    [
        (set(), None, "", False, QUERY, None, Step.SIGN_IN),
        (set(), None, "", False, QUERY, ADA, Step.ANSWER),
        (set(), None, "", True, QUERY, ADA, Step.CONFIRM),
        (set(), None, "", True, FORM_POST, ADA, Step.ANSWER),
        (set(), None, "", True, FORM_POST, None, Step.SIGN_IN),
        (set(), 300, "", False, QUERY, ADA, Step.ANSWER),
        (set(), 299, "", False, QUERY, ADA, Step.SIGN_IN),
        (set(), 0, "", False, QUERY, ADA, Step.SIGN_IN),
        (set(), None, "ADA@estate.example", False, QUERY, ADA, Step.ANSWER),
        (set(), None, "ben@estate.example", False, QUERY, ADA, Step.SIGN_IN),
        ({NONE}, None, "", False, QUERY, None, Step.LOGIN_REQUIRED),
        ({NONE}, None, "", False, QUERY, ADA, Step.ANSWER),
        ({NONE}, None, "", True, QUERY, ADA, Step.INTERACTION_REQUIRED),
        ({NONE}, None, "", True, FORM_POST, ADA, Step.INTERACTION_REQUIRED),
        ({NONE}, 299, "", False, QUERY, ADA, Step.LOGIN_REQUIRED),
        ({NONE}, None, "ben@estate.example", False, QUERY, ADA, Step.LOGIN_REQUIRED),
        ({LOGIN}, None, "", False, QUERY, ADA, Step.SIGN_IN),
        ({LOGIN, SELECT}, None, "", False, QUERY, ADA, Step.SIGN_IN),
        ({SELECT}, None, "", False, QUERY, ADA, Step.CONFIRM),
        ({SELECT}, None, "", False, FORM_POST, ADA, Step.CONFIRM),
        ({SELECT}, None, "", False, QUERY, None, Step.SIGN_IN),
        ({CONSENT}, None, "", False, QUERY, ADA, Step.CONFIRM),
    ],
)
def test_it_works(
    *,
    prompts: set[Prompt],
    max_age: int | None,
    hint: str,
    is_native: bool,
    mode: ResponseMode,
    signed_in: SignedIn | None,
    step: Step,
) -> None:
    asked = Conditions(prompts=prompts, max_age=max_age, login_hint=hint, is_native=is_native, mode=mode)

    assert next_step(asked, signed_in) == step
