# SPDX-License-Identifier: Apache-2.0
"""Write the icon of the pages as favicon.ico: `python -m checks.icon`. Needs Chromium."""

import shutil
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parents[1] / "src" / "chamberlain" / "design"
# Browsers use 16 and 32 pixels in tabs and bookmarks, Windows 48 on the desktop.
SIZES = (16, 32, 48)
_HEADER = struct.Struct("<HHH")
_ENTRY = struct.Struct("<BBBBHHII")


def main() -> int:
    """Draw the SVG in all sizes and write the file."""
    images = draw((FOLDER / "icon.svg").read_text(encoding="utf-8"))
    (FOLDER / "favicon.ico").write_bytes(pack(images))
    return 0


def draw(svg: str) -> Mapping[int, bytes]:
    """Draw an SVG as PNG images by their size in pixels."""
    with sync_playwright() as playwright:
        # As root, Chromium runs only without its sandbox. The page is our own.
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        images = {}
        for size in SIZES:
            page.set_viewport_size({"width": size, "height": size})
            page.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block; width: {size}px }}</style>{svg}")
            images[size] = page.screenshot(omit_background=True)
        browser.close()
    return images


def pack(images: Mapping[int, bytes]) -> bytes:
    """Pack PNG images into an ICO file."""
    offset = _HEADER.size + len(images) * _ENTRY.size
    entries = b""
    for size, image in images.items():
        entries += _ENTRY.pack(size, size, 0, 0, 1, 32, len(image), offset)
        offset += len(image)
    return _HEADER.pack(0, 1, len(images)) + entries + b"".join(images.values())


def unpack(icon: bytes) -> Iterator[tuple[int, bytes]]:
    """Read the sizes and PNG images of an ICO file."""
    _, _, number = _HEADER.unpack_from(icon)
    for index in range(number):
        width, *_, length, offset = _ENTRY.unpack_from(icon, _HEADER.size + index * _ENTRY.size)
        yield width, icon[offset : offset + length]


if __name__ == "__main__":
    sys.exit(main())
