# SPDX-License-Identifier: Apache-2.0
"""Colors, spacing, type and icons of all pages.

No page, no text, no layout of one page.
"""

from importlib.resources import files
from typing import Final


def _read(name: str) -> bytes:
    return files(__name__).joinpath(name).read_bytes()


STYLE: Final = _read("design.css")
ICON: Final = _read("icon.svg")
# Built from the SVG by `python -m checks.icon`, for browsers that ask for /favicon.ico.
FAVICON: Final = _read("favicon.ico")
