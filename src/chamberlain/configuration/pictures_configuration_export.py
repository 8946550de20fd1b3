"""A configuration file that says of tenants what is true of them."""

from collections.abc import Sequence

from chamberlain.configuration.rules import Picture
from chamberlain.configuration.yaml import MOST_BYTES
from chamberlain.configuration.yaml_written_documents import write_document
from chamberlain.core.diff import Content
from chamberlain.core.errors import FileInvalid
from chamberlain.core.values import Json

_HEAD = """\
# Tenants with their templates and policies. What the embedded directory and identity platform hold is no part of this,
# and no secret is in it: a webhook without one keeps the one that it has.
"""


class ConfigurationTooLarge(FileInvalid):
    """The file would be larger than one that is read."""


def write_configuration(pictures: Sequence[Picture]) -> str:
    """The text of the file. Raises ConfigurationTooLarge."""
    text = _HEAD + write_document({"tenants": [_document(each) for each in pictures]})
    if (size := len(text.encode())) > MOST_BYTES:
        advice = "Export one tenant at a time (--tenant)." if len(pictures) > 1 else "It cannot be exported."
        raise ConfigurationTooLarge(f"The file would have {size} bytes, and one of {MOST_BYTES} is read. {advice}")
    return text


def _document(picture: Picture) -> Json:
    issuers = picture.settings.get("issuers")
    members = {name: value for name, value in picture.settings.items() if name != "issuers"}
    lists = {"templates": _identified(picture.templates), "policies": _identified(picture.policies)}
    return _without_nulls({**members, "issuers": issuers, **lists})


def _identified(things: Sequence[Content] | None) -> list[Content]:
    """What says which thing this is comes first."""
    first = ("id", "kind", "name")
    return [{**{name: each[name] for name in first if name in each}, **each} for each in things or ()]


def _without_nulls(value: object) -> Json:
    """Null is "not there" in a file."""
    match value:
        case dict():
            return {str(name): _without_nulls(each) for name, each in value.items() if each is not None}
        case list():
            return [_without_nulls(each) for each in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            raise TypeError(f"{value!r} is nothing that JSON can hold.")
