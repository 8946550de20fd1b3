# SPDX-License-Identifier: Apache-2.0
"""Name the option that a property of the API came from."""

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from typer.models import OptionInfo

# Properties with another word than their options.
_WORDS = {"q": "query", "provisioningState": "state", "userIds": "approver"}
# Codes about a property that was not sent.
_MISSING = frozenset({"missingProperty", "typeNotRecognised"})


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """Options of a command by parameter, and the values that were given."""

    names: Mapping[str, str]
    values: Mapping[str, object]

    def place_of(self, pointer: str, code: str) -> str:
        """Return the option of a pointer, or the pointer.

        A property of a file has no option. One that is missing has the option that sets it.
        """
        parts = [part for part in pointer.split("/") if part]
        for part in reversed(parts):
            parameter = self._parameter_of(part)
            if parameter is None:
                continue
            value = self.values.get(parameter)
            if value not in (None, [], ()) or (code in _MISSING and not self.values.get("body")):
                return " ".join([self.names[parameter], *_item(value, parts)])
        return pointer or "/"

    def _parameter_of(self, member: str) -> str | None:
        wanted = _plain(_WORDS.get(member, member))
        return next((parameter for parameter in self.names if _plain(parameter) == wanted), None)


NO_OPTIONS = GivenOptions({}, {})


def option_names(parameters: Iterable[inspect.Parameter]) -> dict[str, str]:
    """Return the names of the options of a command by parameter."""
    return {each.name: name for each in parameters if (name := _option_name(each)) is not None}


def with_options(sentence: str, given: Iterable[str]) -> str:
    """Name the given options in an error of the settings."""
    for name in given:
        sentence = sentence.replace(f"CHAMBERLAIN_{name.upper()} is ", f"--{name.replace('_', '-')} is ")
    return sentence


def _option_name(parameter: inspect.Parameter) -> str | None:
    declared = next((each for each in get_args(parameter.annotation) if isinstance(each, OptionInfo)), None)
    if declared is None:
        return None
    long = (each for each in declared.param_decls or () if each.startswith("--"))
    return next(long, None) or f"--{parameter.name.replace('_', '-')}"


def _item(value: object, parts: list[str]) -> list[str]:
    """Return the value of a repeatable option that the pointer means."""
    last = parts[-1]
    if isinstance(value, list) and last.isdecimal() and int(last) < len(value):
        return [str(value[int(last)])]
    return []


def _plain(name: str) -> str:
    """Reduce a name to what property and option have in common."""
    base = re.sub(r"^(is|has)(?=[A-Z])", "", name)
    base = re.sub(r"(?<=[a-z])(Ids?|Type)$", "", base)
    return base.replace("_", "").lower().removesuffix("s")
