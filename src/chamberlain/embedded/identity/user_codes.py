"""The code that somebody reads on one screen and types on another (RFC 8628, 6.1)."""

from secrets import choice

# Without vowels, so that no words come about, and without what looks or sounds like another letter: 20 to the 8th are
# 34 bits, enough for something that lives some minutes and is guessed under a limit.
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_LENGTH = 8


def new_user_code() -> str:
    """A code as it is kept: eight capital letters."""
    return "".join(choice(LETTERS) for _ in range(_LENGTH))


def shown(user_code: str) -> str:
    """The code as it is shown: XXXX-XXXX."""
    return f"{user_code[:4]}-{user_code[4:]}"


def read_user_code(typed: str) -> str | None:
    """The code that somebody typed, in either letter case, with or without dash and spaces; None when it is none."""
    # One letter of another alphabet may be two capital ones of ours.
    letters = "".join(letter for letter in typed.upper() if letter not in "- ") if typed.isascii() else ""
    return letters if len(letters) == _LENGTH and set(letters) <= set(LETTERS) else None
