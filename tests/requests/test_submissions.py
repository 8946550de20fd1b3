# SPDX-License-Identifier: Apache-2.0
"""Verdicts on submissions."""

import pytest

from chamberlain.requests.models import Written
from tests.auth.editor_values import NOW

pytestmark = pytest.mark.pure


def test_a_verdict_is_the_same_whenever_it_was_written() -> None:
    assert Written(NOW) == Written()
    assert Written(NOW).at == NOW
    assert Written().at is None
