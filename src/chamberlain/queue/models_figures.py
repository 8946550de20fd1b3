"""The figures of operation: how far what waits is counted for those who look at them."""

from typing import Final

# They are asked for every few seconds and waited for as long, and to count a million rows takes longer.
MOST_COUNTED: Final = 10_000


def counted(number: int, noun: str) -> str:
    """So many of something in words; `noun` is in the singular."""
    if number >= MOST_COUNTED:
        return f"{MOST_COUNTED:,} {noun}s or more"
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
