# SPDX-License-Identifier: Apache-2.0
"""Reading the server's log after a failed start."""

from pathlib import Path

import pytest

from chamberlain.embedded.postgres.server_log import log_sizes, written_since


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "log").mkdir()
    return tmp_path / "log" / "postgresql-Mon.log"


def test_it_works(log: Path, tmp_path: Path) -> None:
    log.write_text("before\n")
    sizes = log_sizes(tmp_path)
    with log.open("a") as file:
        file.write("since\n")

    assert written_since(tmp_path, sizes) == "since\n"


def test_it_rejects_a_link(log: Path, tmp_path: Path) -> None:
    """The reader can be root, so the server's user must not choose the file."""
    (tmp_path / "secret").write_text("secret\n")
    log.symlink_to(tmp_path / "secret")

    assert written_since(tmp_path, {}) == ""


def test_it_rejects_a_link_in_place_of_the_folder(log: Path, tmp_path: Path) -> None:
    log.write_text("secret\n")
    log.parent.rename(tmp_path / "elsewhere")
    log.parent.symlink_to(tmp_path / "elsewhere")

    assert written_since(tmp_path, {}) == ""


def test_it_handles_an_overwritten_file(log: Path, tmp_path: Path) -> None:
    log.write_text("a whole day, a week ago\n")
    sizes = log_sizes(tmp_path)
    log.write_text("today\n")

    assert written_since(tmp_path, sizes) == "today\n"


def test_it_handles_a_missing_log(tmp_path: Path) -> None:
    assert log_sizes(tmp_path) == {}
    assert written_since(tmp_path, {}) == ""
