# SPDX-License-Identifier: Apache-2.0
"""Ten thousand random rules select the same users in the database and in Python."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import pytest

from chamberlain.core.membership_rules import MOST_CHARACTERS, RuleInvalid, read_rule
from chamberlain.embedded.directory.dynamic_groups import condition_of
from chamberlain.embedded.directory.load import load
from tests.databases import Databases
from tests.embedded.directory.sample_data import HOUSE, user

pytestmark = pytest.mark.heavy

RULES = 10_000
# The number of conditions per statement.
TOGETHER = 200

IDS = [f"70000000-0000-4000-8000-0000000000a{number}" for number in range(6)]
USERS = [
    user(UUID(IDS[0]), HOUSE, "Ada", department="Sales", city="Bern", jobTitle="It's"),
    user(UUID(IDS[1]), HOUSE, "Ben", department="sales", city="BERN", accountEnabled=False),
    user(UUID(IDS[2]), HOUSE, "Cleo", department="Sales & more", city="Zürich", userType="Guest"),
    user(UUID(IDS[3]), HOUSE, 'Dara "D"', department="", jobTitle="%"),
    user(UUID(IDS[4]), HOUSE, "Eli", city="ZÜRICH", jobTitle="a_b", mail=None),
    user(UUID(IDS[5]), HOUSE, "日本", department="日本 😀", jobTitle="null"),
]
TEXTS = [
    "", "Sales", "SALES", "sal", "es", "Bern", "zürich", "Zü", "It's", "%", "_", '"', "null", "日本", "😀", "&", "a",
    "Guest", "member", "ada@house.example", "@house", IDS[0], IDS[0].upper(), "' OR true --", "$1", "\\",
]  # fmt: skip
PATTERNS = [
    "^s",
    "s$",
    "S.l",
    "(sales|bern)",
    "^$",
    "[a-m]+n",
    "ü",
    "a.b",
    "日",
    "e+",
    "^(z|b).*h?$",
    "x",
    " ",
    "[^a-z]",
]
PROPERTIES = ["department", "city", "jobTitle", "displayName", "mail", "userType", "objectId", "userPrincipalName"]

Person = Mapping[str, object]


@dataclass(frozen=True)
class RandomExpression:
    """A rule and its meaning."""

    text: str
    holds: Callable[[Person], bool]


def lowered(text: str) -> str:
    return "".join(letter.lower() for letter in text)


def value_of(person: Person, name: str) -> str | None:
    value = person.get({"objectId": "id"}.get(name, name), "Member" if name == "userType" else None)
    assert value is None or isinstance(value, str)
    return None if value is None else lowered(value)


# The meaning of each operator, for an existing value and the text of the rule.
OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "eq": lambda value, text: value == lowered(text),
    "startsWith": lambda value, text: value.startswith(lowered(text)),
    "contains": lambda value, text: lowered(text) in value,
    "match": lambda value, text: re.search(text, value, re.IGNORECASE | re.DOTALL) is not None,
}
OPPOSITES = {"eq": "ne", "startsWith": "notStartsWith", "contains": "notContains", "match": "notMatch"}


class Generator:
    """Generates rules; deterministic for each seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - no secret; the same rules each time.

    def rule(self, levels: int = 4) -> RandomExpression:
        kind = self._random.random()
        if levels == 0 or kind < 0.45:
            makers = [self._compared, self._compared, self._compared, self._listed, self._absent, self._enabled]
            return self._random.choice(makers)()
        if kind < 0.6:
            part = self.rule(levels - 1)
            return RandomExpression(f"{self._cased('-not')} ({part.text})", lambda person: not part.holds(person))
        return self._several([self.rule(levels - 1) for _ in range(self._random.randint(2, 3))])

    def _several(self, parts: Sequence[RandomExpression]) -> RandomExpression:
        # "-and" has a higher precedence than "-or", so parts of a conjunction are in brackets.
        if self._random.random() < 0.5:
            text = f" {self._cased('-and')} ".join(f"({part.text})" for part in parts)
            return RandomExpression(text, lambda person: all(part.holds(person) for part in parts))
        text = f" {self._cased('-or')} ".join(part.text for part in parts)
        return RandomExpression(text, lambda person: any(part.holds(person) for part in parts))

    def _compared(self) -> RandomExpression:
        name, operator = self._random.choice(PROPERTIES), self._random.choice(sorted(OPERATORS))
        text = self._random.choice(PATTERNS if operator == "match" else TEXTS)
        is_opposite = self._random.random() < 0.4

        def holds(person: Person) -> bool:
            value = value_of(person, name)
            return (value is not None and OPERATORS[operator](value, text)) is not is_opposite

        written = OPPOSITES[operator] if is_opposite else operator
        return RandomExpression(
            f"{self._cased('user.' + name)} {self._cased('-' + written)} {self._quoted(text)}", holds
        )

    def _listed(self) -> RandomExpression:
        name, is_opposite = self._random.choice(PROPERTIES), self._random.random() < 0.4
        texts = [self._random.choice(TEXTS) for _ in range(self._random.randint(1, 4))]
        wanted = {lowered(text) for text in texts}
        operator = self._cased("-notIn" if is_opposite else "-in")
        return RandomExpression(
            f"user.{name} {operator} [{', '.join(map(self._quoted, texts))}]",
            lambda person: (value_of(person, name) in wanted) is not is_opposite,
        )

    def _absent(self) -> RandomExpression:
        name, operator = self._random.choice(PROPERTIES), self._random.choice(["eq", "ne"])
        return RandomExpression(
            f"user.{name} -{operator} {self._cased('null')}",
            lambda person: (value_of(person, name) is None) is (operator == "eq"),
        )

    def _enabled(self) -> RandomExpression:
        operator, wanted = self._random.choice(["eq", "ne"]), self._random.choice([True, False])
        return RandomExpression(
            f"user.accountEnabled -{operator} {self._cased(str(wanted))}",
            lambda person: (person.get("accountEnabled", True) is wanted) is (operator == "eq"),
        )

    def _quoted(self, text: str) -> str:
        quote = self._random.choice("\"'")
        return quote + text.replace(quote, quote * 2) + quote

    def _cased(self, word: str) -> str:
        return self._random.choice([word, word.lower(), word.upper()])


def random_rules(count: int) -> list[RandomExpression]:
    maker = Generator(20261121)
    found: dict[str, RandomExpression] = {}
    while len(found) < count:
        one = maker.rule()
        if len(one.text) <= MOST_CHARACTERS:
            found[one.text] = one
    return list(found.values())


async def test_it_works(databases: Databases) -> None:
    await load(databases.worker.pool, {"users": USERS})
    rules = random_rules(RULES)
    named = 0

    for start in range(0, RULES, TOGETHER):
        batch = rules[start : start + TOGETHER]
        parameters: list[object] = [HOUSE]
        conditions = ", ".join(condition_of(read_rule(one.text), parameters) for one in batch)
        rows = await databases.worker.pool.fetch(
            f"SELECT u.id::text, ARRAY[{conditions}] FROM directory.users u WHERE u.tenant_id = $1 ORDER BY u.id",  # noqa: S608 - the statement under test.
            *parameters,
        )

        assert [row[0] for row in rows] == IDS
        for person, (_, found) in zip(USERS, rows, strict=True):
            for one, answer in zip(batch, found, strict=True):
                assert answer is one.holds(person), f"{one.text} of {person}"
                named += answer

    # Most rules select some users, neither all nor none.
    assert RULES * 1.5 < named < RULES * 4.5


MUTATIONS = ["'", '"', "(", ")", "[", "]", ",", "$", " ", "-eq", " -and ", "-not ", "%", "\\", "user.", "null", "é"]


def test_it_rejects_mutations_with_the_position() -> None:
    maker = random.Random(7)  # noqa: S311 - no secret; the same nonsense each time.
    refused = 0
    for one in random_rules(RULES):
        text = one.text
        for _ in range(maker.randint(1, 3)):
            at = maker.randrange(len(text) + 1)
            text = text[:at] + maker.choice(MUTATIONS) + text[at + maker.randint(0, 4) :]
        fault = fault_of(text)
        if fault is not None:
            refused += 1
            assert 1 <= fault.position <= len(text) + 1, fault.detail
    assert refused > RULES * 0.7


def fault_of(text: str) -> RuleInvalid | None:
    """Return the error of a rule; every other exception is a bug."""
    try:
        condition_of(read_rule(text), [])
    except RuleInvalid as fault:
        return fault
    return None
