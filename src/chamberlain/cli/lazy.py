"""Command groups that import their module on first use, which keeps `--help` fast."""

from importlib import import_module
from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup
from typer.main import get_group

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from typer._click import Command


def lazy_group(name: str, module: str, attribute: str, help_text: str) -> typer.Typer:
    """Return a group that imports `module`:`attribute` on first use."""

    class LazyGroup(TyperGroup):
        _loaded: "MutableMapping[str, Command] | None" = None

        @property
        def commands(self) -> "MutableMapping[str, Command]":
            if self._loaded is None:
                self._loaded = get_group(getattr(import_module(module), attribute)).commands
            return self._loaded

        @commands.setter
        def commands(self, _: "MutableMapping[str, Command]") -> None:
            """Ignore the empty table that the framework sets."""

    return typer.Typer(name=name, help=help_text, cls=LazyGroup, no_args_is_help=True)
