"""How values are made of which every submission makes some."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

__all__ = ["value"]

# Used like `dataclass`, as @value(frozen=True, slots=True). A frozen dataclass writes each of its members by a call,
# 0.12 us a member, which was a tenth of what a submission costs; one that is not frozen takes a third of that. So these
# are frozen to the type checker, which sees all of our code, and plain ones to the interpreter.
if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(*, frozen: bool, slots: bool, kw_only: bool = False) -> Callable[[type], type]:
        return dataclass(unsafe_hash=frozen, slots=slots, kw_only=kw_only)


# What JSON can hold, as far as records need it.
Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
