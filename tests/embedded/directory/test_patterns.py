# SPDX-License-Identifier: Apache-2.0
import pytest

from chamberlain.core.membership_rules import RuleInvalid, read_pattern


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("Sales", "Sales"),
        (".*", ".*"),
        ("^a+b?$", "^a+b?$"),
        ("(a|b)c", "(?:a|b)c"),
        ("(?:a|b)c", "(?:a|b)c"),
        (r"\d\w\s\.", r"\d\w\s\."),
        ("[a-z]+[^0-9]", "[a-z]+[^0-9]"),
        (r"[\d.]", r"[\d.]"),
        ("[-a][a-]", "[-a][a-]"),
        ("", ""),
        ("^$" * 6, "^$" * 6),
        ("(^a|b$)(c)*", "(?:^a|b$)(?:c)*"),
    ],
)
def test_it_works(pattern: str, expected: str) -> None:
    assert read_pattern(pattern, 1) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a)\1",
        "(?=a)",
        "(?!a)",
        "(?<=a)b",
        "(?i)a",
        "a{3}",
        "a**",
        "a*?",
        "*a",
        "***:a",
        "|*",
        "^*",
        "(a",
        "a)",
        "[a",
        "[]",
        "[^]",
        "[z-a]",
        "[a-z-9]",
        r"[a-\d]",
        "[[:alpha:]]",
        r"\b",
        r"\y",
        "\\",
        "x" * 300,
        "(^|$)*",
        "(^a)+",
        "(a(b$))?",
        "^$" * 7,
    ],
)
def test_it_rejects_slow_and_ambiguous_patterns(pattern: str) -> None:
    with pytest.raises(RuleInvalid) as rejected:
        read_pattern(pattern, 7)

    assert rejected.value.position == 7
