# SPDX-License-Identifier: Apache-2.0
"""Read and write the YAML of configuration files.

The line of each part is recorded. Values are built from the parser's events, so they are objects, lists, text, numbers,
true, false and null. Tags, anchors and aliases are rejected: they could create other types, or values of unbounded
size.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from chamberlain.core.json import number
from chamberlain.core.validation import split_pointer

MOST_BYTES = 1024 * 1024
# Far more than a configuration needs, far less than exhausts the stack.
MOST_LEVELS = 40
# Twice as long as any name that a shape accepts. Pointers repeat the names of all levels.
LONGEST_NAME = 256

_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
# A part of the core schema of YAML 1.2: no dates, no `yes`, no numbers to the base of sixty. Longer digits are text.
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_REAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")
_BEGINS_WITH_ZERO = re.compile(r"[-+]?0[0-9]+")
# Not allowed in YAML; the parser would reject the file without a line.
_NOT_PRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORDS: Mapping[str, bool | None] = {"": None, "~": None, "null": None, "true": True, "false": False}


class DocumentInvalid(ValueError):
    """The text is not a valid document.

    `line` counts from 1, or is None.
    """

    def __init__(self, line: int | None, detail: str) -> None:
        super().__init__(detail if line is None else f"Line {line}: {detail}")
        self.line = line
        self.detail = detail


@dataclass(slots=True)
class Lines:
    """Line of a part of a document.

    `parts` has the lines inside, by name or index. This is a tree, because the pointers of all parts can be a
    thousand times as long as the document.
    """

    line: int | None = None
    parts: Mapping[str, "Lines"] | Sequence["Lines"] = field(default=(), repr=False)

    def find(self, pointer: str) -> int | None:
        """Return the line of the smallest known part around a place."""
        here = self
        for name in split_pointer(pointer):
            below = here._below(name)
            if below is None:
                break
            here = below
        return here.line

    def _below(self, name: str) -> "Lines | None":
        if isinstance(self.parts, Mapping):
            return self.parts.get(name)
        return self.parts[int(name)] if name.isdecimal() and int(name) < len(self.parts) else None


@dataclass(frozen=True, slots=True)
class Document:
    """The value of a document, and the lines of its parts."""

    value: object
    lines: Lines


def read_document(content: bytes) -> Document:
    """Read a document. Raises DocumentInvalid."""
    if len(content) > MOST_BYTES:
        raise DocumentInvalid(None, f"The file has more than {MOST_BYTES} bytes. Split it.")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DocumentInvalid(line, "This is not UTF-8. Save the file in that encoding.") from error
    if found := _NOT_PRINTABLE.search(text):
        detail = f"A character that YAML does not allow (U+{ord(found[0]):04X}) is here. Take it out."
        raise DocumentInvalid(text.count("\n", 0, found.start()) + 1, detail)
    try:
        return _Builder(_content_of(text)).build()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        detail = f"This is not YAML: {error.problem or error.context}."
        raise DocumentInvalid(None if mark is None else mark.line + 1, detail) from error
    except yaml.YAMLError as error:
        raise DocumentInvalid(None, f"This is not YAML: {error}.") from error


def plain_value(text: str) -> object:
    """Return the value of a text without quotation marks."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return number(text) if _REAL.fullmatch(text) else text


def _content_of(text: str) -> Iterator[yaml.Event]:
    """List the events of the only document, without those around it."""
    documents = 0
    for event in yaml.parse(text, Loader=_LOADER):
        match event:
            case yaml.StreamStartEvent() | yaml.StreamEndEvent() | yaml.DocumentEndEvent():
                continue
            case yaml.DocumentStartEvent():
                documents += 1
                if documents > 1:
                    raise DocumentInvalid(_line(event), "A second document begins here. Put it into a file of its own.")
            case yaml.NodeEvent() if event.anchor is not None:
                detail = "Anchors and aliases (& and *) are not read. Write the value out where it is needed."
                raise DocumentInvalid(_line(event), detail)
            case yaml.ScalarEvent() | yaml.CollectionStartEvent() if event.tag is not None:
                raise DocumentInvalid(_line(event), f"Tags ({event.tag}) are not read. Leave it out.")
            case _:
                yield event


class _Builder:
    """Build values from events, and remember lines."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events

    def build(self) -> Document:
        first = next(self._events, None)
        if first is None:
            return Document(value=None, lines=Lines())
        lines = Lines(_line(first))
        value = self._value(first, lines, 0)
        # Only the end of the text shows that no other document follows.
        next(self._events, None)
        return Document(value=value, lines=lines)

    def _value(self, event: yaml.Event, lines: Lines, level: int) -> object:
        if level > MOST_LEVELS:
            raise DocumentInvalid(_line(event), f"This is nested more than {MOST_LEVELS} levels deep.")
        match event:
            case yaml.ScalarEvent():
                return _scalar(event)
            case yaml.MappingStartEvent():
                return self._object(lines, level + 1)
            case _:
                return self._list(lines, level + 1)

    def _object(self, lines: Lines, level: int) -> dict[str, object]:
        members: dict[str, object] = {}
        lines.parts = parts = dict[str, Lines]()
        for key in self._until(yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                raise DocumentInvalid(_line(key), "The name of a property is a text.")
            name = str(key.value)
            if name == "<<" and not key.style:
                raise DocumentInvalid(_line(key), "Merges (<<) are not read. Write the properties out.")
            if len(name) > LONGEST_NAME:
                detail = f"The name of a property has more than {LONGEST_NAME} characters. Shorten it."
                raise DocumentInvalid(_line(key), detail)
            if name in members:
                first = parts[name].line
                raise DocumentInvalid(_line(key), f'"{name}" is there twice (first on line {first}). Keep one of them.')
            # The line of the name: its value may begin below.
            parts[name] = Lines(_line(key))
            members[name] = self._value(next(self._events), parts[name], level)
        return members

    def _list(self, lines: Lines, level: int) -> list[object]:
        items: list[object] = []
        lines.parts = parts = list[Lines]()
        for event in self._until(yaml.SequenceEndEvent):
            parts.append(Lines(_line(event)))
            items.append(self._value(event, parts[-1], level))
        return items

    def _until(self, end: type[yaml.Event]) -> Iterator[yaml.Event]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield event


def _scalar(event: yaml.ScalarEvent) -> object:
    text = str(event.value)
    # Text in quotation marks, or in a block.
    if event.style:
        return text
    if _BEGINS_WITH_ZERO.fullmatch(text):
        detail = f"{text} begins with a zero. Put it in quotation marks if it is a text; else leave the zero out."
        raise DocumentInvalid(_line(event), detail)
    return plain_value(text)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def write_document(value: object) -> str:
    """Write a value of objects, lists, texts, numbers, true, false and null."""
    return yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        # A long text stays in its line.
        width=float("inf"),
    )


class _Dumper(yaml.SafeDumper):
    """Write no anchors, and quote ambiguous texts."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 (its parent's)
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 (so)
        # Indent lists below their property.
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_plain = plain_value(text) == text and text.isprintable()
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_plain else '"')


def _list(dumper: yaml.SafeDumper, items: Sequence[object]) -> yaml.SequenceNode:
    """Write a short list of scalars in one line."""
    is_simple = all(isinstance(item, str | int | float | None) for item in items)
    is_short = sum(len(str(item)) for item in items) <= _SHORT
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=is_simple and is_short)


def _object(dumper: yaml.SafeDumper, members: Mapping[str, object]) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", members.items(), flow_style=not members)


# The length of an id and its name.
_SHORT = 80

_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(dict, _object)
