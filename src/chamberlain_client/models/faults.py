"""What is wrong with a body."""

from msgspec import Struct


class Fault(Struct, frozen=True):
    """One thing wrong with a body: `pointer` is the JSON Pointer to it, empty for a fault beside the body."""

    pointer: str
    code: str
    detail: str
