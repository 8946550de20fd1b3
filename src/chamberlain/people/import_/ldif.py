# SPDX-License-Identifier: Apache-2.0
"""Parses the entries of an LDIF file (RFC 2849).

Lines can be folded, values can be in Base64, and comments begin with `#`. Only entries to add are read: a file with
other changes, or with values in other files, has faults.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from chamberlain.cli.import_.table import MOST_BYTES, MOST_ROWS, FileFault


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: first line, name, and values of each attribute.

    Names of attributes are in lower case and have no options, such as `;lang-en`.
    """

    line: int
    dn: str
    values: Mapping[str, Sequence[bytes]]

    def text(self, *names: str) -> str | None:
        """Return the first value of the first attribute that has one.

        Raises UnicodeDecodeError.
        """
        for name in names:
            for value in self.values.get(name, ()):
                if text := value.decode("utf-8").strip():
                    return text
        return None


class _Unreadable(Exception):
    """A line is invalid. The message says why."""


def read_ldif(data: bytes) -> tuple[Sequence[Entry], Sequence[FileFault]]:
    """Return the entries and all faults."""
    if len(data) > MOST_BYTES:
        detail = f"The file has more than {MOST_BYTES // 1024 // 1024} MiB. Divide it into several."
        return (), [FileFault(1, None, detail)]
    entries: list[Entry] = []
    faults: list[FileFault] = []
    for record in _records(data):
        try:
            entry = _entry(record)
        except _RecordInvalid as fault:
            faults.append(FileFault(fault.line, None, fault.detail))
            continue
        if entry is None:
            continue
        entries.append(entry)
        if len(entries) > MOST_ROWS:
            faults.append(FileFault(entry.line, None, f"There are more than {MOST_ROWS:,} entries. Divide the file."))
            break
    if not entries and not faults:
        faults.append(FileFault(1, None, "There is no entry in the file. An entry begins with a line `dn: ...`."))
    return entries, faults


# A line with its number, unfolded.
_Line = tuple[int, bytes]


class _RecordInvalid(Exception):
    def __init__(self, line: int, detail: str) -> None:
        super().__init__(detail)
        self.line = line
        self.detail = detail


def _records(data: bytes) -> Iterator[list[_Line]]:
    """Yield the lines of each record, without comments. Blank lines separate records."""
    # A line may be folded into very many, so its parts are joined once.
    record: list[tuple[int, list[bytes]]] = []
    is_comment = False
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        line = raw.removesuffix(b"\r")
        if line.startswith(b" ") and (record or is_comment):
            # The line goes on with the character after the space.
            if not is_comment:
                record[-1][1].append(line[1:])
            continue
        is_comment = line.startswith(b"#")
        if is_comment:
            continue
        if line:
            record.append((number, [line]))
        elif record:
            yield _unfolded(record)
            record = []
    if record:
        yield _unfolded(record)


def _unfolded(record: Sequence[tuple[int, Sequence[bytes]]]) -> list[_Line]:
    return [(number, b"".join(parts)) for number, parts in record]


def _entry(record: Sequence[_Line]) -> Entry | None:
    """Build an entry. Raises _RecordInvalid.

    Returns None for a record of the version alone.
    """
    entry = _UnfinishedEntry(record[0][0])
    for number, line in record:
        try:
            entry.take(number, *_attribute(line))
        except _Unreadable as error:
            raise _RecordInvalid(number, str(error)) from error
        except UnicodeDecodeError as error:
            raise _RecordInvalid(number, "The name is not UTF-8.") from error
    return None if entry.dn is None else Entry(entry.line, entry.dn, entry.values)


@dataclass(slots=True)
class _UnfinishedEntry:
    """An entry with the lines that were read so far."""

    line: int
    dn: str | None = None
    values: dict[str, list[bytes]] = field(default_factory=dict)

    def take(self, line: int, name: str, value: bytes) -> None:
        """Add the attribute of a line. Raises _Unreadable."""
        match name:
            case "version" if self.dn is None:
                if value != b"1":
                    raise _Unreadable("The version of LDIF is 1.")
            case "dn" if self.dn is None:
                self.dn, self.line = value.decode("utf-8"), line
            case _ if self.dn is None:
                raise _Unreadable("An entry begins with a line `dn: ...`.")
            case "changetype":
                if value.strip().lower() != b"add":
                    raise _Unreadable(f"changetype {value.decode('utf-8', 'replace')} is not imported, only add.")
            case "control":
                raise _Unreadable("Controls are not imported. Remove the line.")
            case _:
                self.values.setdefault(name.partition(";")[0], []).append(value)


def _attribute(line: bytes) -> tuple[str, bytes]:
    """Split a line into attribute, in lower case, and value."""
    name, colon, rest = line.partition(b":")
    if not colon or not name.strip() or not name.isascii():
        raise _Unreadable("A line has a name, a colon and a value.")
    described = name.decode("ascii").strip().lower()
    if rest.startswith(b"<"):
        raise _Unreadable(f"The value of {described} is in another file, which is not read. Put it into the line.")
    if not rest.startswith(b":"):
        return described, rest.lstrip(b" ")
    try:
        return described, base64.b64decode(rest[1:].strip(b" "), validate=True)
    except binascii.Error as error:
        raise _Unreadable(f"The value of {described} is not Base64.") from error
