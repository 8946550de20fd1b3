# SPDX-License-Identifier: Apache-2.0
"""Count the SQL statements of a page, and the bytes and requests of a first visit.

PostgreSQL logs the statements of the application's role. BEGIN and COMMIT count as one each, as does every other
message to the database. Statements of the worker have another role. Other calls at the same time only add statements,
so the fewest of several visits are those of the page.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import count
from pathlib import Path
from urllib.parse import urljoin

import httpx2

from chamberlain.embedded.postgres.roles import APPLICATION, SET_UP, address
from tests.console.browser import Browser, Page
from tests.postgres import connected
from tests.services import Service, wait_until

# The first visits prepare statements and fill caches. A session records its use once a minute.
VISITS = 4
# A line of the log of PostgreSQL starts with its time; the further lines of a statement start with a tab.
_ENTRY = re.compile(
    r"^\d{4}-\S+ \S+ UTC \[\d+\] (?P<role>\w+)@\w+ .*? LOG:  (?:statement|execute [^:]*): (?P<text>.*(?:\n\t.*)*)",
    re.MULTILINE,
)


@dataclass
class StatementLog:
    """The log of the statements of a running service with the embedded database."""

    service: Service
    numbers: Iterator[int] = field(default_factory=count)

    def during(self, act: Callable[[], object]) -> Sequence[str]:
        """Return all statements of the application's role while something happens."""
        before, after = self._mark(), ""
        act()
        after = self._mark()
        text = self._read().partition(before)[2].partition(after)[0]
        return [each["text"] for each in _ENTRY.finditer(text) if each["role"] == APPLICATION]

    def of(self, visit: Callable[[], Page]) -> Sequence[str]:
        """Return the statements of one page."""

        def visit_once() -> None:
            page = visit()
            assert page.status < 400, (page.url, page.status)

        return min([self.during(visit_once) for _ in range(VISITS)], key=len)

    def _mark(self) -> str:
        """Write a line to the log, after all lines of statements that have begun."""
        name = f"mark {next(self.numbers)} of {id(self)}"
        asyncio.run(_execute(self.service, f"SELECT '{name}'"))
        wait_until(lambda: name in self._read(), 10)
        return name

    def _read(self) -> str:
        # A run around midnight has two.
        paths = sorted((self.service.data_dir / "postgres" / "data" / "log").glob("*.log"), key=_changed)
        return "".join(path.read_text(encoding="utf-8") for path in paths)


@contextmanager
def logged_statements(service: Service) -> Iterator[StatementLog]:
    """Let the embedded PostgreSQL log all statements while the block runs."""
    asyncio.run(_execute(service, "ALTER SYSTEM SET log_statement = 'all'", "SELECT pg_reload_conf()"))
    log = StatementLog(service)
    # Each server process reads its new settings before its next statement, but not at once.
    wait_until(lambda: log.during(lambda: service.answers("/health/ready")), 10)
    try:
        yield log
    finally:
        asyncio.run(_execute(service, "ALTER SYSTEM RESET log_statement", "SELECT pg_reload_conf()"))


@dataclass(frozen=True, slots=True)
class Transfer:
    """The bytes of a page with all files that a browser loads for it: headers and content, compressed as sent."""

    sizes: dict[str, int]

    @property
    def requests(self) -> int:
        return len(self.sizes)

    @property
    def bytes(self) -> int:
        return sum(self.sizes.values())


def transfer_of(browser: Browser, url: str) -> Transfer:
    """Load a page and its files as a browser does on its first visit."""
    page = browser.get(url)
    sizes = {page.url: _size(page.answer)}
    files = _Files()
    files.feed(page.html)
    for path in dict.fromkeys(files.found):
        answer = browser.get(urljoin(page.url, path)).answer
        assert answer.status_code == 200, path
        sizes[str(answer.url)] = _size(answer)
    return Transfer(sizes)


class _Files(HTMLParser):
    """The files that a page names."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        path = values.get("href") if tag == "link" else values.get("src")
        if path is not None:
            self.found.append(path)


def _size(answer: httpx2.Response) -> int:
    headers = sum(len(name) + len(value) + 4 for name, value in answer.headers.raw)
    return headers + answer.num_bytes_downloaded


def _changed(path: Path) -> float:
    return path.stat().st_mtime


async def _execute(service: Service, *statements: str) -> None:
    set_up = address(service.data_dir / "postgres" / "data", SET_UP, "postgres")
    async with connected(set_up) as connection:
        for statement in statements:
            await connection.execute(statement)
