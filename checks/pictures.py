# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of the documentation: pages by Chromium, a terminal session as SVG.

`python3 dev.py pictures` writes them to `docs/pictures`, beside `texts.json` with the words of each picture. A heavy
test draws them again and compares the words, so that a picture does not outlive the page that it shows.
"""

import json
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from playwright.sync_api import Browser

from checks import console_pictures
from tests.chromium import open_browser_user, run_chromium
from tests.services import Service, running_service

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
TEXTS = "texts.json"

# The terminal, in characters and pixels. Commands wrap their output at this width.
COLUMNS = 80
CHARACTER, LINE, MARGIN, BAR = 8.4, 19, 18, 34
# Seconds of the animation between a command and its output, and between two lines of output.
PAUSE, STEP = 0.9, 0.05
SESSION = (
    ("group", "create", "--template", "Project group", "--display-name", "Orchard", "--wait"),
    (
        *("mailbox", "create", "--template", "Room", "--name", "lucerne"),
        *("--display-name", "Lucerne, 2nd floor", "--capacity", "8", "--wait"),
    ),
    ("request", "list"),
)
# Paths of pages that need no sign-in, by the names of their pictures.
PAGES = {"landing": "/", "api": "/docs"}
WIDTH, HEIGHT = 1280, 800
# Characters of a page that are compared: more than its picture shows.
WORDS = 2000
# Ids, times and ports differ in each run.
MONTHS = "Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec"
CHANGING = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{8}\b|\d+(?:[.:]\d+)*|[A-Z]{4}-[A-Z]{4}"
    rf"|\b(?:{MONTHS})\b"
)

STYLE = """
    text { font: 14px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
    text { fill: #d7dde6; white-space: pre; }
    .prompt { fill: #7fc8a9; } .strong { font-weight: 600; fill: #ffffff; } .dim { fill: #8b97a8; }
    .row { animation: show 0.01s both; } @keyframes show { from { opacity: 0; } to { opacity: 1; } }
    @media (prefers-reduced-motion: reduce) { .row { animation: none; } }
"""


def main(arguments: list[str]) -> int:
    """Draw all pictures into docs/pictures, or into the folder that is named."""
    folder = Path(arguments[0]) if arguments else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    texts: dict[str, str] = {}
    with running_service() as service, tempfile.TemporaryDirectory() as home:
        environment = {
            **os.environ,
            "HOME": home,
            "CHAMBERLAIN_PORT": str(service.port),
            "CHAMBERLAIN_DATA_DIR": str(service.data_dir),
            "COLUMNS": str(COLUMNS),
            "TERM": "xterm-256color",
            "TZ": "UTC",
        }
        texts["sign-in.png"] = sign_in(service, environment, folder / "sign-in.png")
        rows = list(session(environment))
        (folder / "terminal.svg").write_text(drawn(rows), encoding="utf-8")
        texts["terminal.svg"] = "\n".join("".join(text for _, text in row) for _, row in rows)
        with run_chromium(service.data_dir / "ca.pem") as browser:
            for name, path in PAGES.items():
                texts[f"{name}.png"] = photograph(browser, f"{service.url}{path}", folder / f"{name}.png")
            # The demo comes last: the session above lists all requests.
            texts |= console_pictures.draw(service, browser, folder)
    normalized = {name: CHANGING.sub("#", text) for name, text in sorted(texts.items())}
    (folder / TEXTS).write_text(json.dumps(normalized, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def photograph(browser: Browser, url: str, file: Path) -> str:
    """Write a picture of the upper part of a page, and return the words of the page."""
    with browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}) as page:
        page.goto(url, wait_until="load")
        page.screenshot(path=file, animations="disabled")
        return page.locator("body").inner_text()[:WORDS]


def sign_in(service: Service, environment: Mapping[str, str], file: Path) -> str:
    """Sign the command line in by the browser, and write a picture of the page that asks for consent."""
    command = [sys.executable, "-m", "chamberlain", "login"]
    with (
        subprocess.Popen(
            command, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as login,
        open_browser_user(service.data_dir) as user,
    ):
        said = ""
        while (prompt := re.search(r"(https://\S+device)\b.*?\b([A-Z]{4}-[A-Z]{4})\b", said, re.DOTALL)) is None:
            line = login.stdout.readline() if login.stdout else ""
            assert line, said
            said += line
        user.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        user.enter_code(*prompt.groups())
        user.page.screenshot(path=file, animations="disabled")
        words = user.page.locator("body").inner_text()[:WORDS]
        user.page.get_by_role("button", name="Allow").click()
        # The command fails if the page shows anything but the permission.
        assert login.wait(timeout=60) == 0, said
        return words


def session(environment: Mapping[str, str]) -> Iterator[tuple[float, "Row"]]:
    """Type the commands of the session, and yield each row of the screen with its time in seconds."""
    now = 0.0
    for command in SESSION:
        words = " ".join(f'"{word}"' if " " in word else word for word in command)
        lines = wrapped(f"chamberlain {words}")
        for line in lines:
            prompt, more = "$ " if line is lines[0] else "  ", "" if line is lines[-1] else " \\"
            yield now, [("prompt", prompt), ("strong", line + more)]
        now += PAUSE
        for row in screen(typed(command, environment)):
            yield now, row
            now += STEP
        yield now, []
        now += PAUSE


def wrapped(command: str) -> list[str]:
    """Break a command before its options."""
    lines = [""]
    for part in re.split(r" (?=--)", command):
        if lines[-1] and len(lines[-1]) + len(part) > COLUMNS - 6:
            lines.append("   ")
        lines[-1] += f" {part}" if lines[-1] else part
    return lines


def typed(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run a command in a terminal, and return its output with the escape codes."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-m", "chamberlain", *command], dict(environment))  # noqa: S606  A terminal belongs to one process.
    output = bytearray()
    while chunk := read(terminal):
        output += chunk
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, output.decode()
    os.close(terminal)
    return output.decode()


def read(terminal: int) -> bytes:
    """Read from a terminal. Linux reports its end as an input error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


# The runs of one row of the screen: class and text.
Row = list[tuple[str, str]]


def screen(output: str) -> list[Row]:
    """Return the rows that a terminal shows at the end.

    It knows the codes that rich writes: colours, carriage return, line feed, cursor up and erase line.
    """
    rows: list[list[tuple[str, str]]] = [[]]
    at, column, style = 0, 0, ""
    for code, argument, text in re.findall(r"\x1b\[\??([0-9;]*)([A-Za-z])|([^\x1b])", output):
        if text == "\r":
            column = 0
        elif text == "\n":
            at += 1
            if at == len(rows):
                rows.append([])
        elif text:
            rows[at][column:] = [*rows[at][column:column], (style, text), *rows[at][column + 1 :]]
            column += 1
        elif argument == "A":
            at -= int(code or 1)
        elif argument == "K":
            rows[at] = []
        elif argument == "m":
            style = {"1": "strong", "2": "dim"}.get(code.split(";")[0], "")
    merged = [
        [(style, "".join(character for _, character in run)) for style, run in groupby(row, lambda each: each[0])]
        for row in rows
    ]
    return merged[:-1] if not merged[-1] else merged


def drawn(rows: Sequence[tuple[float, Row]]) -> str:
    """Draw the rows as a window that fills in their times, and stays filled."""
    width = round(COLUMNS * CHARACTER) + 2 * MARGIN
    height = BAR + MARGIN + LINE * len(rows)
    shown = "\n".join(
        f'<text class="row" style="animation-delay:{at:.2f}s" x="{MARGIN}" y="{BAR + LINE * number}">{runs(row)}</text>'
        for number, (at, row) in enumerate(rows, start=1)
        if row
    )
    dots = "".join(f'<circle cx="{MARGIN + 18 * each}" cy="17" r="5.5" fill="#3a4454"/>' for each in range(3))
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return (
        "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n'
        "  <title>A terminal creates a group and a room with chamberlain</title>\n"
        f"  <style>{STYLE}  </style>\n"
        f'  <rect width="{width}" height="{height}" rx="10" fill="#161b24"/>{dots}\n'
        f"{shown}\n</svg>\n"
    )


def runs(row: Row) -> str:
    """Write the runs of a row as SVG."""
    return "".join(f'<tspan class="{style}">{escape(text)}</tspan>' if style else escape(text) for style, text in row)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
