"""Codes in the source: texts at one position in calls of the functions that make faults."""

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_FAULTS = {"Fault", "fault_at"}


def codes_of_faults(*places: Path) -> set[str]:
    """The codes that faults are made with in files and folders."""
    return {code for place in places for code in arguments(place, _FAULTS, index=1)}


# Any: what the functions take and answer does not matter here.
def codes_of_functions(*functions: Callable[..., Any]) -> set[str]:
    """The codes that faults are made with in these functions themselves."""
    return {code for each in functions for code in _arguments(inspect.getsource(each), _FAULTS, index=1)}


def first_arguments(place: Path, functions: set[str]) -> set[str]:
    """The texts that come first in calls of these functions."""
    return set(arguments(place, functions, index=0))


def arguments(place: Path, functions: set[str], *, index: int) -> Iterator[str]:
    """The texts at one position in calls of these functions."""
    for path in place.rglob("*.py") if place.is_dir() else (place,):
        yield from _arguments(path.read_text(encoding="utf-8"), functions, index=index)


def _arguments(source: str, functions: set[str], *, index: int) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
            argument = node.args[index] if len(node.args) > index else None
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value
