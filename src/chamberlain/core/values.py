# SPDX-License-Identifier: Apache-2.0
"""Value classes that every submission makes, and the type of JSON values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

__all__ = ["value"]

# Used like `dataclass`, as @value(frozen=True, slots=True). A frozen dataclass writes each member by a call, 5 % of
# the time of a submission. So these are frozen for the type checker only. The core may not import fastpath.
if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(*, frozen: bool, slots: bool, kw_only: bool = False) -> Callable[[type], type]:
        return dataclass(unsafe_hash=frozen, slots=slots, kw_only=kw_only)


# JSON values, as records need them.
Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
