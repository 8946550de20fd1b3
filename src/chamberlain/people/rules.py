# SPDX-License-Identifier: Apache-2.0
"""Rules of the search for people: its rate limit and its text."""

from datetime import datetime, timedelta
from typing import Final

from chamberlain.core.errors import LimitReached, Malformed
from chamberlain.directory.models import LEAST_LETTERS, typed_words
from chamberlain.people.models import Searches

# A form sends a search when typing pauses: a few for each person.
MOST_SEARCHES: Final = 30
WINDOW: Final = timedelta(minutes=1)
# People of one answer. A longer list helps no user to choose.
MOST_FOUND: Final = 10
# The longest text: a full name or an address.
LONGEST_TEXT: Final = 256


def require_words(text: str) -> None:
    """Raise Malformed for a text that cannot find people.

    One of its words needs two letters.
    """
    if not typed_words(text):
        sentence = "The query parameter {parameter} must have a word of at least {min} letters."
        raise Malformed.build("invalidParameter", sentence, parameter="q", min=LEAST_LETTERS)


def require_rate(searches: Searches, now: datetime) -> None:
    """Raise LimitReached for one search too many in a minute."""
    if searches.number > MOST_SEARCHES:
        raise LimitReached(
            "rateExceeded",
            "You have searched for people {max} times within a minute, the most for one user. Search again later.",
            limit="peopleSearches",
            after=searches.started_at + WINDOW - now,
            values={"max": MOST_SEARCHES},
        )
