# SPDX-License-Identifier: Apache-2.0
"""The names in a PromQL expression, parsed strictly: an unknown part is an error."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"\s+|(?P<string>\"[^\"]*\")|(?P<span>\d+[smhd]\b)|(?P<number>\d+(?:\.\d+)?)|(?P<range>\[(?:\d+[smhd]|\$__rate_interval)\])"
    r"|(?P<word>[a-zA-Z_][a-zA-Z0-9_]*)|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/><=(){},])"
)
_FUNCTIONS = frozenset(
    {"abs", "rate", "increase", "changes", "sum", "max", "min", "count", "avg", "histogram_quantile", "topk", "vector"}
)
_GROUPINGS = frozenset({"by", "without"})
_OPERATORS = frozenset({"and", "or", "unless"})


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric with the matchers on its labels: name, sign and value of each."""

    metric: str
    matchers: tuple[tuple[str, str, str], ...]


def selectors(expression: str) -> list[Selector]:
    """Every selector of an expression, in its order; it may ask for known functions alone."""
    words = _Words(list(_tokens(expression)))
    found = []
    while words:
        word = words.take()
        if word in _GROUPINGS:
            words.take_list("(", ")")
        elif word == "offset":
            assert re.fullmatch(r"\d+[smhd]", words.take())
        elif re.fullmatch(r"[a-zA-Z_]\w*", word) and word not in _OPERATORS:
            if words.next() == "(" or words.next() in _GROUPINGS:
                assert word in _FUNCTIONS, f"{word} is no function that is known here."
            else:
                matchers = words.take_list("{", "}") if words.next() == "{" else []
                found.append(Selector(word, tuple(_matchers(matchers))))
    _require_balanced(expression)
    return found


def grouped_by(expression: str) -> set[str]:
    """The labels that an expression groups by."""
    lists = re.findall(r"\b(?:by|without)\s*\(([^)]*)\)", expression)
    return {name.strip() for each in lists for name in each.split(",")}


class _Words:
    """Tokens that are taken one after the other."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens

    def __bool__(self) -> bool:
        return bool(self._tokens)

    def next(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def take(self) -> str:
        return self._tokens.pop(0)

    def take_list(self, begin: str, end: str) -> list[str]:
        """The text between two signs."""
        assert self.take() == begin
        taken = []
        while (token := self.take()) != end:
            taken.append(token)
        return taken


def _tokens(expression: str) -> Iterator[str]:
    place = 0
    while place < len(expression):
        found = _TOKEN.match(expression, place)
        assert found, f"Not understood: {expression[place:]!r}"
        place = found.end()
        if found[0].strip():
            yield found[0]


def _matchers(tokens: list[str]) -> Iterator[tuple[str, str, str]]:
    for name, sign, value, *comma in [tokens[start : start + 4] for start in range(0, len(tokens), 4)]:
        assert sign in {"=", "!=", "=~", "!~"}
        assert comma in ([], [","])
        yield name, sign, value.strip('"')


def _require_balanced(expression: str) -> None:
    opened: list[str] = []
    for sign in re.sub(r'"[^"]*"', "", expression):
        if sign in "([{":
            opened.append({"(": ")", "[": "]", "{": "}"}[sign])
        elif sign in ")]}":
            assert opened, expression
            assert opened.pop() == sign, expression
    assert not opened, expression
