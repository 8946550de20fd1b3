"""Patterns of `-match`: only those that can be matched in time that grows with the text, whatever they are.

Taken are characters, `.`, classes, anchors, groups, alternatives and the quantifiers `*`, `+` and `?`. Not taken are
back-references and look-around, which need back-tracking, and counts, which can make a short pattern into a huge one.
The database matches what is left with an automaton; its length is bounded, and so is that of the texts it meets.
"""

import re

from chamberlain.embedded.directory.errors import BadRule

MOST_CHARACTERS = 256

_PIECE = re.compile(
    r"""
      (?P<escape>\\[dDwWsS.\\^$|?*+()\[\]{}/@_-])
    | (?P<class>\[\^?(?:\\[dwsDWS.\\^$|?*+()\[\]{}/@_-]|[^\[\]\\])+\])
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
    open_groups = 0
    at = 0
    may_repeat = False
    while at < len(pattern):
        found = _PIECE.match(pattern, at)
        kind = None if found is None else found.lastgroup
        if found is None or (kind == "quantifier" and not may_repeat) or (kind == "close" and open_groups == 0):
            raise BadRule(f"character {at + 1} of the pattern is not one that -match can use here.", position)
        open_groups += (kind == "open") - (kind == "close")
        may_repeat = kind in {"escape", "class", "close", "character"}
        # Nobody asks which part matched; without captures nothing has to be remembered.
        pieces.append("(?:" if kind == "open" else found[0])
        at = found.end()
    if open_groups:
        raise BadRule("a bracket of the pattern is not closed.", position)
    return "".join(pieces)
