# SPDX-License-Identifier: Apache-2.0
"""Rules of answers: the words and reactions of a decision."""

from collections.abc import Iterable
from typing import Final

from chamberlain.conversations.models import Choice, Message, NoChoice, Question, Reaction, Said
from chamberlain.core.errors import NotPossible
from chamberlain.requests.replies import parse_decision
from chamberlain.requests.rules import Action

# The reaction that the bot offers, so that one tap approves.
OFFERED: Final = "\N{WHITE HEAVY CHECK MARK}"
_APPROVING: Final = frozenset({OFFERED, "\N{THUMBS UP SIGN}", "\N{HEAVY CHECK MARK}"})
_REJECTING: Final = frozenset({"\N{CROSS MARK}", "\N{THUMBS DOWN SIGN}", "\N{HEAVY MULTIPLICATION X}"})
# Variation selectors and skin tones change the look of a reaction only.
_LOOKS: Final = {0xFE0E: None, 0xFE0F: None, **dict.fromkeys(range(0x1F3FB, 0x1F400))}
# Longest text that is read, as of the reason of a mail.
_LONGEST: Final = 65_536


def find_question(said: Said, questions: Iterable[Question]) -> Question | None:
    """Find the question that an answer is about.

    Only the asked user answers it, in its room. A message without a reference is about none: with several open
    questions it could decide on the wrong request.
    """
    return next(
        (each for each in questions if (each.event, each.room, each.address) == (said.about, said.room, said.sender)),
        None,
    )


def read_choice(said: Said) -> Choice | NoChoice | None:
    """Read the decision in an answer.

    Returns None for a reaction without a meaning here. A rejection needs a reason, as in the API and by mail.
    """
    match said:
        case Reaction(key=key):
            plain = key.translate(_LOOKS)
            if plain in _APPROVING:
                return Choice(Action.APPROVE)
            return NoChoice.REASON_MISSING if plain in _REJECTING else None
        case Message(text=text):
            try:
                action, reason = parse_decision(without_quote(text[:_LONGEST]))
            except NotPossible:
                return NoChoice.UNCLEAR
            return Choice(action, reason)


def without_quote(text: str) -> str:
    """Remove the quoted message before a reply.

    Some clients add it (Matrix, "Rich replies"). The lines of the quote begin with `> `, and an empty line follows
    them.
    """
    lines = text.splitlines()
    while lines and lines[0].startswith(">"):
        lines.pop(0)
    return "\n".join(lines)
