# SPDX-License-Identifier: Apache-2.0
"""Draw the pages of the console: each light, dark and on a phone, with the data of the demo."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple

from playwright.sync_api import Browser, Page

from tests.services import Service

BEN, CLEO, DARA = (f"{name}@estate.example" for name in ("ben", "cleo", "dara"))
# Timeout for a page on a busy machine, in milliseconds.
SHOWN_WITHIN: Final = 30_000
# Characters of a page that are compared: more than its picture shows.
WORDS: Final = 2000
# WebP of this quality needs half the bytes of PNG.
QUALITY: Final = 0.9
# Pages have the font of the system. That of a server is no example: pictures have Inter where it is installed.
FONT: Final = ":root { --sans: Inter, system-ui, sans-serif; }"
CONVERT: Final = """async ([png, quality]) => {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", quality).split(",")[1];
}"""


class Look(NamedTuple):
    """How a picture shows a page. The name is the end of the file name."""

    name: str
    scheme: Literal["light", "dark"] = "light"
    width: int = 1280
    height: int = 800
    language: str = "en"


LIGHT, DARK, NARROW = Look(""), Look("-dark", "dark"), Look("-narrow", width=390, height=844)
GERMAN = Look("-german", language="de")


def draw(service: Service, browser: Browser, folder: Path) -> dict[str, str]:
    """Write all pictures into the folder, and return the words of each page by file name."""
    service.run("demo")
    looks = (LIGHT, DARK, NARROW, GERMAN)
    return {file: words for look in looks for file, words in _draw_look(service, browser, folder, look)}


def _draw_look(service: Service, browser: Browser, folder: Path, look: Look) -> Iterator[tuple[str, str]]:
    def picture(page: Page, name: str) -> tuple[str, str]:
        file = f"console-{name}{look.name}.webp"
        page.wait_for_load_state("networkidle")
        page.add_style_tag(content=FONT)
        (folder / file).write_bytes(_webp(browser, page.screenshot(animations="disabled")))
        return file, page.locator("body").inner_text()[:WORDS]

    with _window(browser, look) as page:
        page.goto(f"{service.url}/console/")
        if look is not GERMAN:
            yield picture(page, "sign-in")
        sign_in(page, service, BEN)
        yield picture(page, "catalog")
        if look is GERMAN:
            return
        fill_room(page)
        yield picture(page, "new-request")
        page.goto(f"{service.url}/console/requests/")
        yield picture(page, "requests")
    with _window(browser, look) as page:
        page.goto(f"{service.url}/console/requests/")
        sign_in(page, service, CLEO)
        page.get_by_role("link", name="Limmat").first.click()
        page.locator("main[data-page=request]").wait_for()
        yield picture(page, "request")
    with _window(browser, look) as page:
        page.goto(f"{service.url}/console/approvals/")
        sign_in(page, service, DARA)
        yield picture(page, "approvals")
        page.locator("main article h2 a").first.click()
        page.locator("main[data-page=review]").wait_for()
        yield picture(page, "review")
        page.goto(f"{service.url}/console/account/")
        yield picture(page, "account")


def sign_in(page: Page, service: Service, address: str) -> None:
    """Sign in at the embedded identity platform, in either language."""
    passwords = json.loads((service.data_dir / "example-users.json").read_text())
    page.locator("#address").fill(address)
    page.locator("main form button").click()
    page.locator("input[type=password]").fill(passwords[address])
    page.keyboard.press("Enter")
    page.locator("body.framed").wait_for()


def fill_room(page: Page) -> None:
    """Fill in the form of a room, and wait for its preview."""
    page.get_by_role("link", name="Room").first.click()
    page.locator('[name="/displayName"]').fill("Lucerne, 3rd floor")
    page.get_by_label("Seats").fill("8")
    page.get_by_label("Whiteboard").check()
    page.get_by_text("@rooms.estate.example").first.wait_for()


@contextmanager
def _window(browser: Browser, look: Look) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": look.width, "height": look.height},
        color_scheme=look.scheme,
        locale={"en": "en-GB", "de": "de-DE"}[look.language],
        timezone_id="UTC",
        # For the font.
        bypass_csp=True,
    )
    context.set_default_timeout(SHOWN_WITHIN)
    try:
        yield context.new_page()
    finally:
        context.close()


def _webp(browser: Browser, png: bytes) -> bytes:
    """Convert a picture by the canvas of the browser."""
    with browser.new_page() as page:
        encoded: str = page.evaluate(CONVERT, [b64encode(png).decode(), QUALITY])
    return b64decode(encoded)
