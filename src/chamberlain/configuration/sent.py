# SPDX-License-Identifier: Apache-2.0
"""Configuration documents in bodies of calls, in JSON or YAML."""

from dataclasses import dataclass

from chamberlain.configuration.files import Configuration, ConfigurationFault, ConfigurationInvalid, read_value
from chamberlain.configuration.yaml import LONGEST_NAME, MOST_LEVELS, Document, DocumentInvalid, Lines, read_document
from chamberlain.core.errors import BodyInvalid, Fault, Malformed


@dataclass(frozen=True, slots=True)
class SentDocument:
    """A body: YAML as it was sent, or a parsed JSON object."""

    content: bytes | dict[str, object]


def read_sent(document: SentDocument) -> Configuration:
    """Read a body. A large one takes more than a second.

    Raises Malformed, and BodyInvalid with all faults.
    """
    try:
        return read_value(_parse(document.content))
    except ConfigurationInvalid as error:
        raise BodyInvalid(map(to_fault, error.faults)) from error


def to_fault(fault: ConfigurationFault) -> Fault:
    """Convert a fault of a document to one of a body."""
    if fault.line is None:
        return Fault(fault.pointer, fault.code, fault.detail, fault.values)
    detail = f"Line {fault.line}: {fault.detail}"
    return Fault(fault.pointer, fault.code, detail, {**fault.values, "line": fault.line})


def _parse(content: bytes | dict[str, object]) -> Document:
    match content:
        case bytes():
            return _parse_yaml(content)
        case dict():
            _require_bounded(content)
            return Document(content, Lines())


def _parse_yaml(text: bytes) -> Document:
    if not text.strip():
        raise Malformed("notYaml", "The body is empty. Send a configuration document.")
    try:
        document = read_document(text)
    except DocumentInvalid as error:
        malformed = Malformed("notYaml", str(error))
        malformed.values = {} if error.line is None else {"line": error.line}
        raise malformed from error
    if not isinstance(document.value, dict):
        # In a file, only comments are an empty document. A body is an object.
        raise Malformed("notAnObject", "The body must be an object. Begin it with `tenants:`.")
    return document


def _require_bounded(value: object) -> None:
    """Require the bounds that YAML has.

    Pointers of faults repeat the names of all levels.
    """
    level: list[object] = [value]
    for _ in range(MOST_LEVELS + 1):
        if any(len(name) > LONGEST_NAME for each in level if isinstance(each, dict) for name in each):
            raise Malformed("notJson", f"The name of a property has more than {LONGEST_NAME} characters. Shorten it.")
        level = [inner for each in level for inner in _within(each)]
    if level:
        raise Malformed("notJson", f"The body is nested more than {MOST_LEVELS} levels deep.")


def _within(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
