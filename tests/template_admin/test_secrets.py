# SPDX-License-Identifier: Apache-2.0
"""The secret of a webhook in a body and in storage."""

from datetime import UTC, datetime

import pytest

from chamberlain.template_admin.models import (
    RotatedSecret,
    SecretFate,
    SettledSecret,
    SigningSecrets,
    fate_of,
    overlap_end,
)

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("has_webhook", "sent", "present", "fate"),
    [
        (True, None, None, SecretFate.MADE),
        (True, None, "old", SecretFate.KEPT),
        (True, "new", None, SecretFate.GIVEN),
        (True, "new", "old", SecretFate.GIVEN),
        (True, "old", "old", SecretFate.KEPT),
        (False, None, None, SecretFate.ABSENT),
        (False, None, "old", SecretFate.REMOVED),
    ],
)
def test_it_works(*, has_webhook: bool, sent: str | None, present: str | None, fate: SecretFate) -> None:
    assert fate_of(has_webhook=has_webhook, sent=sent, present=present) is fate


@pytest.mark.parametrize(
    ("fate", "is_new", "has_changed"),
    [
        (SecretFate.ABSENT, False, False),
        (SecretFate.KEPT, False, False),
        (SecretFate.GIVEN, True, True),
        (SecretFate.MADE, True, True),
        (SecretFate.REMOVED, False, True),
    ],
)
def test_it_says_what_has_changed(fate: SecretFate, *, is_new: bool, has_changed: bool) -> None:
    settled = SettledSecret(fate, was_there=True)

    assert (settled.is_new, settled.has_changed) == (is_new, has_changed)


def test_the_one_before_counts_for_a_day_of_24_hours() -> None:
    assert overlap_end(datetime(2026, 10, 24, 12, tzinfo=UTC)) == datetime(2026, 10, 25, 12, tzinfo=UTC)


def test_a_secret_is_not_shown_by_accident() -> None:
    assert "whsec" not in repr(SettledSecret(SecretFate.MADE, was_there=False, made="whsec_x"))
    assert "whsec" not in repr(RotatedSecret("whsec_x", None))
    assert "whsec" not in repr(SigningSecrets(("whsec_x", "whsec_y")))
