"""Verdicts on submissions."""

from chamberlain.rules.submissions import Written
from tests.rules.editor_values import NOW


def test_a_verdict_is_the_same_whenever_it_was_written() -> None:
    assert Written(NOW) == Written()
    assert Written(NOW).at == NOW
    assert Written().at is None
