# SPDX-License-Identifier: Apache-2.0
"""A released migration is never edited: a database that has run it refuses another text."""

import hashlib
from pathlib import Path

import pytest

from tests.databases import PACKAGE

pytestmark = pytest.mark.pure

# `sha256sum` format. A new migration adds a line; no line changes.
DIGESTS = Path(__file__).with_name("released_migrations.sha256")


def test_every_migration_has_its_released_text() -> None:
    folders = (PACKAGE / "database", PACKAGE / "embedded" / "directory", PACKAGE / "embedded" / "identity")
    files = [path for folder in folders for path in sorted((folder / "migrations").glob("*.sql"))]
    found = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(PACKAGE)}" for path in files]

    assert found == DIGESTS.read_text(encoding="utf-8").splitlines()
