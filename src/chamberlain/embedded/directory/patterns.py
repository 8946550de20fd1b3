"""Patterns of `-match`: only those that can be matched in time that grows with the text, whatever they are.

Taken are characters, `.`, classes, anchors, groups, alternatives and the quantifiers `*`, `+` and `?`. Not taken are
back-references and look-around, which need back-tracking, and counts, which can make a short pattern into a huge one.
Anchors are few, and no group with one in it is repeated: of `(^|$)*` or `(^|$|a*)` thirty times over the database would
not see the end.
The database matches what is left with an automaton; its length is bounded, and so is that of the texts it meets.
"""

import re
from collections.abc import Iterator

from chamberlain.embedded.directory.errors import BadRule

MOST_CHARACTERS = 256
MOST_ANCHORS = 12

_PIECE = re.compile(
    r"""
      (?P<escape>\\[dDwWsS.\\^$|?*+()\[\]{}/@_-])
    | (?P<class>\[(?!\^\])\^?(?:\\[dwsDWS.\\^$|?*+()\[\]{}/@_-]|[^\[\]\\])+\])
    | (?P<open>\((?:\?:)?(?![?*+]))
    | (?P<close>\))
    | (?P<alternative>\|)
    | (?P<anchor>[\^$])
    | (?P<quantifier>[*+?])
    | (?P<character>[^\\\[\](){}^$|*+?])
    """,
    re.VERBOSE | re.DOTALL,
)


def read_pattern(pattern: str, position: int) -> str:
    """The pattern as the database takes it. Raises BadRule, with the position of the text that holds the pattern."""
    if len(pattern) > MOST_CHARACTERS:
        raise BadRule(f"a pattern has at most {MOST_CHARACTERS} characters.", position)
    pieces: list[str] = []
    # For each group that is open, and for the whole, whether there is an anchor in it.
    anchored = [False]
    may_repeat = False
    for at, found in _pieces(pattern, position):
        kind = found.lastgroup
        if not _may_stand(found, may_repeat=may_repeat, is_open=len(anchored) > 1):
            raise _not_here(at, position)
        may_repeat = kind in {"escape", "class", "character"}
        if kind == "open":
            anchored.append(False)
        elif kind == "close":
            has_anchor = anchored.pop()
            anchored[-1] |= has_anchor
            may_repeat = not has_anchor
        elif kind == "anchor":
            anchored[-1] = True
        # Nobody asks which part matched; without captures nothing has to be remembered.
        pieces.append("(?:" if kind == "open" else found[0])
    if sum(piece in {"^", "$"} for piece in pieces) > MOST_ANCHORS:
        raise BadRule(f"a pattern has at most {MOST_ANCHORS} of ^ and $.", position)
    if len(anchored) > 1:
        raise BadRule("a bracket of the pattern is not closed.", position)
    return "".join(pieces)


def _pieces(pattern: str, position: int) -> Iterator[tuple[int, re.Match[str]]]:
    at = 0
    while at < len(pattern):
        found = _PIECE.match(pattern, at)
        if found is None:
            raise _not_here(at, position)
        yield at, found
        at = found.end()


def _not_here(at: int, position: int) -> BadRule:
    return BadRule(f"character {at + 1} of the pattern is not one that -match can use here.", position)


def _may_stand(found: re.Match[str], *, may_repeat: bool, is_open: bool) -> bool:
    match found.lastgroup:
        case "quantifier":
            return may_repeat
        case "close":
            return is_open
        case "class":
            return _runs_forward(found[0].removeprefix("[").removeprefix("^").removesuffix("]"))
        case _:
            return True


_RANGE = re.compile(r"(\\.|[^\\])-(\\.|[^\\])|\\.|[^\\]", re.DOTALL)


def _runs_forward(characters: str) -> bool:
    """Whether every range in a class goes from an ordinary character to the same or a later one, and every other dash
    stands first or last."""
    return all(_is_range(one[1], one[2]) if one[1] else _is_single(one) for one in _RANGE.finditer(characters))


def _is_range(first: str, last: str) -> bool:
    return len(first) == len(last) == 1 and "-" not in {first, last} and first <= last


def _is_single(one: re.Match[str]) -> bool:
    return one[0] != "-" or one.start() == 0 or one.end() == len(one.string)
