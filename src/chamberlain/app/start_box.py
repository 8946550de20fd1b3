# SPDX-License-Identifier: Apache-2.0
"""The box of `serve` on a terminal: addresses, sign-ins, next command.

Log lines go to a file meanwhile, so that the box stays on the screen.
"""

import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from chamberlain.app.data_folder import DataFolder
from chamberlain.settings import Settings

# Terminals and recordings of 80 columns show the whole box.
WIDEST = 80
_LABEL = 11
# The left and right border, with a space each.
_FRAME = 4
_SAMPLE_USERS = "ada@estate.example (administrator), dara@estate.example (approver), cleo@estate.example"


@dataclass(frozen=True, slots=True)
class Start:
    """The facts of a start that the box shows."""

    settings: Settings
    folder: DataFolder
    is_first: bool
    with_worker: bool
    injects_faults: bool
    # The command as the user can type it.
    program: str


def is_on_terminal() -> bool:
    """Return whether a person sees both the output and the log lines."""
    return sys.stdout.isatty() and sys.stderr.isatty()


def program_name() -> str:
    """Return this program as the user can type it here."""
    program = Path(sys.argv[0])
    found = shutil.which("chamberlain")
    if found is not None and Path(found).resolve() == program.resolve():
        return "chamberlain"
    if program.name != "chamberlain":
        return f"{shlex.quote(sys.executable)} -m chamberlain"
    here = Path.cwd()
    return shlex.quote(str(program.relative_to(here) if program.is_relative_to(here) else program))


def start_box(start: Start) -> str:
    """Draw the box for the terminal of standard output."""
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    columns = min(WIDEST, shutil.get_terminal_size().columns)
    return draw_start(start, columns=columns, is_unicode=is_unicode)


def draw_start(start: Start, *, columns: int, is_unicode: bool) -> str:
    """Draw the box with the next commands.

    Commands that are wider than the box follow below it, each in one piece.
    """
    commands = next_commands(start)
    rows = [*box_rows(start), ("", "")]
    does_fit = max(map(len, commands)) <= columns - _FRAME - _LABEL
    if does_fit:
        rows += [("Next", "in a second terminal:"), *[("", command) for command in commands]]
    rows.append(("Stop", "Ctrl-C"))
    box = draw_box("Chamberlain is running", rows, columns=columns, is_unicode=is_unicode)
    return box if does_fit else "\n".join((box, "", "Next, in a second terminal:", *commands))


def next_commands(start: Start) -> list[str]:
    """Return the commands to continue with."""
    settings, folder = start.settings, start.folder
    commands = [f"{start.program} login{_options(settings)}"]
    if _has_sample_users(start) and not folder.demo.exists():
        commands.append(f"{start.program} demo{_options(settings)}")
    return commands


def box_rows(start: Start) -> list[tuple[str, str]]:
    """List the facts in the box: a label and a text each."""
    settings, folder = start.settings, start.folder
    rows = [
        ("Console", f"{settings.console_url}/console/"),
        ("API", settings.base_url),
        ("API docs", f"{settings.base_url}/docs"),
    ]
    if settings.embedded_identity:
        rows += [("Sign-in", f"{settings.tls_url} (TLS)"), ("CA file", shown(folder.authority))]
    if _has_sample_users(start):
        rows += [("", ""), ("Users", _SAMPLE_USERS), ("Passwords", shown(folder.example_users))]
    rows += [("", ""), ("Data", shown(folder.path) + (", new" if start.is_first else ", from an earlier start"))]
    rows.append(("Log", shown(folder.log)))
    if not start.with_worker:
        rows.append(("Worker", "none in this process"))
    if start.injects_faults:
        rows.append(("Faults", "injected, because CHAMBERLAIN_FAULT_... settings are set"))
    return rows


def draw_box(title: str, rows: Sequence[tuple[str, str]], *, columns: int, is_unicode: bool) -> str:
    """Draw rows in a frame. Long texts continue on the next line."""
    across, down = ("─", "│") if is_unicode else ("-", "|")
    corners = "┌┐└┘" if is_unicode else "++++"
    inner = columns - _FRAME
    lines = [f"{down} {line:<{inner}} {down}" for label, text in rows for line in _row(label, text, inner)]
    head = f"{corners[0]}{across} {title} ".ljust(columns - 1, across) + corners[1]
    return "\n".join((head, *lines, corners[2] + across * (columns - 2) + corners[3]))


def shown(path: Path) -> str:
    """Abbreviate the home folder of the user, as shells do."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _has_sample_users(start: Start) -> bool:
    settings = start.settings
    return settings.embedded_identity and settings.listens_on_loopback and start.folder.example_users.exists()


def _row(label: str, text: str, width: int) -> Iterator[str]:
    # Hyphens belong to options and paths: a line that ends there could not be copied.
    parts = textwrap.wrap(text, width - _LABEL, break_on_hyphens=False) or [""]
    for number, part in enumerate(parts):
        yield f"{'' if number else label:<{_LABEL}}{part}"


def _options(settings: Settings) -> str:
    """Return the options by which another command finds this service."""
    defaults = type(settings).model_fields
    options = ""
    if settings.port != defaults["port"].default:
        options += f" --port {settings.port}"
    if settings.data_dir != defaults["data_dir"].get_default(call_default_factory=True):
        options += f" --data-dir {shlex.quote(str(settings.data_dir))}"
    return options
