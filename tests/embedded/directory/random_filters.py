# SPDX-License-Identifier: Apache-2.0
"""Random filters, and the meaning of each in Python."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from uuid import UUID

from chamberlain.embedded.directory.graph.filters import MOST_CHARACTERS
from tests.embedded.directory.sample_data import HOUSE, OTHER_HOUSE, group

# Texts that are equal except for case, have equal parts, or need quoting.
TEXTS = [
    "", "a", "A", "ab", "Abc", "it's", "''", "'", "%", "_", "a%", "\\", 'say "x"', "null", "x) or (x",
    "a' or 'a' eq 'a", "Straße", "STRASSE", "ÄÖÜ", "äöü", "Été", "日本", "😀", "a b", "$1", "§",
    "e\u0301", "é", "Unified", "unified",
    "DynamicMembership", "g0@house.example", "G1@HOUSE.example", "--", ";",
]  # fmt: skip
IDS = [f"60000000-0000-4000-8000-0000000000a{number}" for number in range(10)]

# Texts that some parsers accept as ids.
NEARLY_IDS = [IDS[0].replace("-", ""), f"{{{IDS[1]}}}", f"urn:uuid:{IDS[2]}", f"{IDS[3]}x", f" {IDS[4]}"]


def entry(
    number: int,
    name: str,
    nickname: str,
    mail: str | None = None,
    types: tuple[str, ...] = (),
    **extensions: dict[str, str],
) -> dict[str, object]:
    more = {} if mail is None else {"mail": mail}
    id_ = UUID(IDS[number])
    return group(id_, HOUSE, name, mailNickname=nickname, groupTypes=[*types], extensions=extensions, **more)


DYNAMIC = "DynamicMembership"
GROUPS_OF_HOUSE = [
    entry(0, "ab", "n", "g0@house.example", ("Unified",)),
    entry(1, "AB", "N", house_group={"requestId": "ab", "templateId": "A"}),
    entry(2, "It's", "n%", "G1@house.example", ("Unified", DYNAMIC), house_group={"requestId": "AB"},
          other_group={"requestId": "it's"}),
    entry(3, "%", "it's", house_group={"requestId": ""}),
    entry(4, "Straße", "ä", "ä@house.example", ("Unified",), other_group={"requestId": "ÄÖÜ", "note": "%"}),
    entry(5, "äöü", "Ä", house_group={"templateId": "null"}),
    entry(6, "e\u0301", "g", types=(DYNAMIC,)),
    entry(7, "日本", "null", "'@house.example", house_group={"requestId": "日本"}),
    entry(8, 'say "x"', "x_y", House_Group={"requestId": "ab"}),
    entry(9, "A b", "😀", house_group={"requestid": "ab"}),
]  # fmt: skip
# The same marks in another tenant must not match.
ELSEWHERE = [
    group(UUID(IDS[0]), OTHER_HOUSE, "ab", extensions={"house_group": {"requestId": "x", "templateId": "ab"}}),
    group(UUID(int=7), OTHER_HOUSE, "Straße", mail="g1@other.example"),
]

Group = Mapping[str, object]
Test = Callable[[Group], bool]


@dataclass(frozen=True)
class RandomExpression:
    """A filter, its meaning, and the same filter with other texts."""

    text: str
    holds: Test
    other: str


NAMES = [str(one[name]) for one in GROUPS_OF_HOUSE for name in ("displayName", "mailNickname")]
PROPERTIES = ["id", "displayName", "mailNickname", "mail"]
MEMBERS = [
    "house_group/requestId", "house_group/templateId", "other_group/requestId", "other_group/note", "no_group/x",
    "House_Group/requestId", "house_group/requestid",
]  # fmt: skip
OTHER_TEXTS = ["z", "it''s", "", "§§"]


def lowered(text: str) -> str:
    return "".join(letter.lower() for letter in text)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def value_at(entry: Group, path: str) -> str | None:
    name, _, member = path.partition("/")
    if not member:
        value = entry.get(name)
    else:
        extensions = entry["extensions"]
        assert isinstance(extensions, Mapping)
        value = extensions.get(name, {}).get(member)
    assert value is None or isinstance(value, str)
    return None if value is None else lowered(value)


class Generator:
    """Generates filters; deterministic for each seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - no secret; the same filters each time.

    def filter(self, levels: int = 4) -> RandomExpression:
        kind = self._random.random()
        if levels == 0 or kind < 0.45:
            return self._comparison()
        if kind < 0.6:
            return self._not(self.filter(levels - 1))
        if kind < 0.7:
            part = self.filter(levels - 1)
            return RandomExpression(f"({part.text})", part.holds, f"({part.other})")
        return self._several([self.filter(levels - 1) for _ in range(self._random.randint(2, 3))])

    def _several(self, parts: Sequence[RandomExpression]) -> RandomExpression:
        # "and" has a higher precedence than "or", so parts of a conjunction are in brackets.
        word, combine = self._random.choice([("and", all), ("or", any)])
        ends = ("(", ")") if word == "and" else ("", "")
        texts = [word.join((" ", " ")).join(f"{ends[0]}{text}{ends[1]}" for text in several) for several in (
            [part.text for part in parts], [part.other for part in parts]
        )]  # fmt: skip
        return RandomExpression(texts[0], lambda entry: combine(part.holds(entry) for part in parts), texts[1])

    def _not(self, part: RandomExpression) -> RandomExpression:
        return RandomExpression(f"not({part.text})", lambda entry: not part.holds(entry), f"not({part.other})")

    def _comparison(self) -> RandomExpression:
        make = self._random.choice([self._equal, self._equal, self._in, self._starts_with, self._has_type])
        return make()

    def _equal(self) -> RandomExpression:
        path, value = self._path(), self._value()
        operator = self._random.choice(["eq", "ne"])
        wanted = None if value is None else lowered(value)
        return RandomExpression(
            f"{path} {operator} {'null' if value is None else quoted(value)}",
            lambda entry: (value_at(entry, path) == wanted) is (operator == "eq"),
            f"{path} {operator} {'null' if value is None else self._other()}",
        )

    def _in(self) -> RandomExpression:
        path, values = self._path(), [self._value() for _ in range(self._random.randint(1, 4))]
        wanted = {None if value is None else lowered(value) for value in values}
        return RandomExpression(
            f"{path} in ({', '.join('null' if value is None else quoted(value) for value in values)})",
            lambda entry: value_at(entry, path) in wanted,
            f"{path} in ({','.join('null' if value is None else self._other() for value in values)})",
        )

    def _starts_with(self) -> RandomExpression:
        path, text = self._path(), self._text()
        beginning = lowered(text[: self._random.randint(0, 3)])
        return RandomExpression(
            f"startswith({path}, {quoted(beginning)})",
            lambda entry: (value_at(entry, path) or "").startswith(beginning) and value_at(entry, path) is not None,
            f"startswith({path}, {self._other()})",
        )

    def _has_type(self) -> RandomExpression:
        text, name = self._text(), self._random.choice(["c", "x", "groupTypes"])

        def holds(entry: Group) -> bool:
            types = entry["groupTypes"]
            assert isinstance(types, list)
            return lowered(text) in map(lowered, types)

        return RandomExpression(
            f"groupTypes/any({name}:{name} eq {quoted(text)})",
            holds,
            f"groupTypes/any({name}:{name} eq {self._other()})",
        )

    def _path(self) -> str:
        return self._random.choice(self._random.choice([PROPERTIES, MEMBERS]))

    def _value(self) -> str | None:
        return None if self._random.random() < 0.15 else self._text()

    def _text(self) -> str:
        likely = ["g0@house.example", "Unified", "ab", IDS[0].upper()]
        several = self._random.choice([TEXTS, IDS, NEARLY_IDS, NAMES, likely])
        return self._random.choice(several)

    def _other(self) -> str:
        # Another text. Ids stay the same, because other texts are removed before the query.
        return quoted(self._random.choice(OTHER_TEXTS))


@cache
def random_filters(count: int, seed: int = 20261121) -> tuple[RandomExpression, ...]:
    """Generate this many different filters."""
    maker = Generator(seed)
    found: dict[str, RandomExpression] = {}
    while len(found) < count:
        one = maker.filter()
        if max(len(one.text), len(one.other)) <= MOST_CHARACTERS:
            found[one.text] = one
    return tuple(found.values())
