# SPDX-License-Identifier: Apache-2.0
"""The sources of a checkout."""

import ast
from collections.abc import Iterator
from pathlib import Path


def files_of(root: Path) -> list[Path]:
    """List the Python files of the service."""
    return sorted((root / "src/chamberlain").rglob("*.py"))


def trees_of(root: Path) -> Iterator[ast.Module]:
    """Parse the Python files of the service."""
    for path in files_of(root):
        yield ast.parse(path.read_text(encoding="utf-8"))
