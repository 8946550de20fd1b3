"""What is wrong with configuration files, and where: the file, the line, and the place in its structure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chamberlain.core.constraints_pointers import parts
from chamberlain.core.errors import Fault, FileInvalid

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class ConfigurationFault:
    """One thing wrong: in which file and on which line and where in it, if that can be said, and how to mend it."""

    file: str | None
    line: int | None
    path: str
    detail: str

    def __str__(self) -> str:
        place = _joined(self.file, self.line, self.path)
        # A line for each, whatever the file has as a name.
        return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", f"{place}: {self.detail}" if place else self.detail)


class ConfigurationInvalid(FileInvalid):
    """The files cannot be used; the message has all faults, a line for each."""

    def __init__(self, faults: Sequence[ConfigurationFault]) -> None:
        super().__init__("\n".join(str(each) for each in faults))
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands. `lines` has the line of each part of the file, by JSON Pointer."""

    file: str | None
    lines: Mapping[str, int] = field(repr=False)
    pointer: str

    def __str__(self) -> str:
        return _joined(self.file, self.line, self.path)

    @property
    def line(self) -> int | None:
        """The line of the smallest part around it that is in the file."""
        pointer = self.pointer
        while pointer not in self.lines and pointer:
            pointer = pointer.rpartition("/")[0]
        return self.lines.get(pointer)

    @property
    def path(self) -> str:
        """The pointer as people write it: tenants[0].name."""
        return re.sub(r"\.\[", "[", ".".join(f"[{part}]" if part.isdecimal() else part for part in parts(self.pointer)))

    def below(self, pointer: str) -> "Place":
        """A place in what stands here."""
        return Place(self.file, self.lines, self.pointer + pointer)

    def fault(self, detail: str) -> ConfigurationFault:
        """What is wrong here."""
        return ConfigurationFault(self.file, self.line, self.path, detail)


def placed(faults: Sequence[Fault], within: Place) -> list[ConfigurationFault]:
    """The faults of one part of a file, as they stand in it."""
    found = [within.below(each.pointer).fault(each.detail) for each in faults]
    return sorted(found, key=lambda each: each.line or 0)


def _joined(file: str | None, line: int | None, path: str) -> str:
    return ", ".join(part for part in (file, line and f"line {line}", path) if part)
