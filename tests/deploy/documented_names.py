# SPDX-License-Identifier: Apache-2.0
"""The names that deployment files may use: settings, commands with their options, endpoints."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer
from typer.core import TyperGroup

from chamberlain.app.cli import app
from chamberlain.app.routes import ENDPOINTS
from chamberlain.settings import SECRETS, Settings, variable

DEPLOY = Path(__file__).parents[2] / "deploy"
SETTINGS = {variable(name) for name in Settings.model_fields} | {f"{variable(name)}_FILE" for name in SECRETS}
DEFAULT_PORT = Settings.model_fields["port"].default


def settings_in(text: str) -> set[str]:
    """Every name that looks like a setting."""
    return set(re.findall(r"\bCHAMBERLAIN_[A-Z_]+", text))


def is_endpoint(path: str) -> bool:
    """Whether a GET is answered there without a token."""
    return any(each.path == path and each.method == "GET" for each in ENDPOINTS)


def require_command(arguments: Sequence[str]) -> None:
    """Fail unless it is a command with options that it has."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    name, *rest = arguments
    command = group.commands[name]
    options = {spelling for each in command.params for spelling in (*each.opts, *each.secondary_opts)}
    assert {each for each in rest if each.startswith("--")} <= options


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file without comments; one that ends with a backslash goes on."""
    text = re.sub(r"\\\n\s*", " ", path.read_text(encoding="utf-8"))
    return (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
