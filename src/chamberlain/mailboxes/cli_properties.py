"""Properties of a body as options: one table says how each is called at the command line and by the API."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Annotated

import typer


@dataclass(frozen=True, slots=True)
class Property:
    """A property by the name that the API gives it, joined by a dot where it is one of an object's.

    `type` is str, int, bool or list; the last is for an option that may be repeated.
    """

    name: str
    help: str
    type: type = str
    option: str | None = None
    metavar: str | None = None

    @property
    def parameter(self) -> str:
        """The option's name as Python spells it."""
        spelled = self.option or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", self.name)
        return spelled.lower().replace("-", "_")


def takes(properties: Sequence[Property]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each; the function gets those that were given as `properties`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*arguments: object, **options: object) -> None:
            given = {each.name: options.pop(each.parameter) for each in properties}
            wanted = {name: value for name, value in given.items() if value is not None and value != []}
            command(*arguments, properties=wanted, **options)

        signature = inspect.signature(command)
        own = [each for each in signature.parameters.values() if each.name != "properties"]
        added = [_parameter(each) for each in properties]
        # What is read of a function to make a command of it.
        run.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]  # As wraps() does.
        return run

    return decorate


def object_of(properties: Mapping[str, object]) -> dict[str, object]:
    """The object that has these properties, those with a dot in objects of their own."""
    body = {name: value for name, value in properties.items() if "." not in name}
    for outer in dict.fromkeys(name.partition(".")[0] for name in properties if "." in name):
        inner = {name.partition(".")[2]: value for name, value in properties.items() if name.startswith(f"{outer}.")}
        body[outer] = inner
    return body


def _parameter(declared: Property) -> inspect.Parameter:
    option = typer.Option(help=declared.help, metavar=declared.metavar)
    annotations: dict[type, object] = {
        str: Annotated[str | None, option],
        int: Annotated[int | None, option],
        bool: Annotated[bool | None, option],
        list: Annotated[list[str] | None, option],
    }
    return inspect.Parameter(
        declared.parameter,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=annotations[declared.type],
    )
