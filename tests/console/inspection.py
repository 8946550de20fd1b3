# SPDX-License-Identifier: Apache-2.0
"""The inspection of one state of a page: axe, width and messages of the browser, in all modes of a screen."""

from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from playwright.sync_api import ConsoleMessage, Page, expect

import dev

AXE: Final = dev.TYPESCRIPT / "node_modules" / "axe-core" / "axe.min.js"
# Rules for pages up to WCAG 2.2 AA, and those of best practice.
TAGS: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# These rules depend on colours. All others find the same in each theme.
COLOURS: Final = ["color-contrast", "link-in-text-block"]
# Browsers report each such answer as an error.
REFUSED: Final = "the server responded with a status of 4"
REPORTS: Final = (
    "addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective}`))"
)
RUN: Final = """async ([type, values]) => {
  const options = { runOnly: { type, values }, resultTypes: ["violations"], preload: false };
  return (await axe.run(document, options)).violations.map(
    (each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}"""
UNFOLD: Final = """() => {
  for (const each of document.querySelectorAll("main details:not([open])")) {
    each.open = true;
    each.dataset.folded = "";
  }
}"""
FOLD: Final = """() => {
  for (const each of document.querySelectorAll("main details[data-folded]")) {
    each.open = false;
    delete each.dataset.folded;
  }
}"""


class Mode(NamedTuple):
    """How a user looks at a page. A browser with 200 % zoom has half the pixels."""

    name: str
    width: int = 1280
    scheme: Literal["light", "dark"] = "light"
    forced: Literal["active", "none"] = "none"
    rules: tuple[str, list[str]] = ("tag", TAGS)


LIGHT: Final = Mode("light")
MODES: Final = (
    LIGHT,
    Mode("dark", scheme="dark", rules=("rule", COLOURS)),
    Mode("forced colours", forced="active", rules=("rule", COLOURS)),
    Mode("390 px", width=390),
    Mode("390 px, dark", width=390, scheme="dark", rules=("rule", COLOURS)),
    Mode("200 %", width=640),
)
# WCAG 1.4.10. Only the width is checked there.
NARROWEST: Final = Mode("320 px", width=320)


@dataclass
class Inspection:
    """The findings in one window. Without `scripts`, axe cannot run there."""

    page: Page
    scripts: bool
    found: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.found.append(f"{self.page.url}: {error}"))
        self.page.add_init_script(REPORTS)

    def look(self, state: str) -> None:
        """Inspect this state of a page in all modes, with its folded parts open."""
        self.states.append(state)
        # A preview that is on its way is paler for a moment.
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0)
        self.page.evaluate(UNFOLD)
        if self.scripts:
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        for mode in MODES:
            self._show(mode)
            self.found.extend(f"{state}, {mode.name}: {each}" for each in self._findings(mode))
        self.page.evaluate(FOLD)
        self._show(NARROWEST)
        self.found.extend(f"{state}, {NARROWEST.name}: {each}" for each in self._overflow(NARROWEST))
        self._show(LIGHT)

    def _show(self, mode: Mode) -> None:
        self.page.set_viewport_size({"width": mode.width, "height": 800})
        self.page.emulate_media(color_scheme=mode.scheme, forced_colors=mode.forced)

    def _findings(self, mode: Mode) -> list[str]:
        found: list[str] = self.page.evaluate(RUN, [*mode.rules]) if self.scripts else []
        return [*found, *self._overflow(mode)]

    def _overflow(self, mode: Mode) -> list[str]:
        width = self.page.evaluate("document.scrollingElement.scrollWidth")
        return [f"{width} px wide"] if width > mode.width else []

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and REFUSED not in message.text:
            self.found.append(f"{self.page.url}: {message.text}")
