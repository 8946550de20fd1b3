"""Options that several commands have together: the fields of a dataclass, declared once."""

import inspect
from collections.abc import Callable
from functools import wraps


def takes_options(declared: Callable[..., object]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each field of a dataclass; the function gets the dataclass as `options`."""
    added = list(inspect.signature(declared).parameters.values())

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*arguments: object, **given: object) -> None:
            options = declared(**{each.name: given.pop(each.name) for each in added})
            command(*arguments, options=options, **given)

        signature = inspect.signature(command)
        own = [each for each in signature.parameters.values() if each.name != "options"]
        # What is read of a function to make a command of it.
        run.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]  # As wraps() does.
        return run

    return decorate
