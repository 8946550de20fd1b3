# SPDX-License-Identifier: Apache-2.0
"""The box of a start on a terminal: its rows, and its frame."""

from pathlib import Path

import pytest

from chamberlain.app.data_folder import DataFolder
from chamberlain.app.start_box import Start, box_rows, draw_box, draw_start, next_commands
from chamberlain.settings import Settings

pytestmark = pytest.mark.pure


def start(folder: Path, *, is_first: bool = True, **settings: object) -> Start:
    values = Settings.model_validate({"data_dir": folder, **settings})
    return Start(values, DataFolder(folder), is_first=is_first, with_worker=True, injects_faults=False, program="c")


def test_it_works(tmp_path: Path) -> None:
    (tmp_path / "example-users.json").touch()

    rows = dict(box_rows(start(tmp_path, port=9001)))

    assert rows["Console"] == "http://127.0.0.1:9001/console/"
    assert rows["API docs"] == "http://127.0.0.1:9001/docs"
    assert rows["Sign-in"] == "https://localhost:9002 (TLS)"
    assert rows["Passwords"] == str(tmp_path / "example-users.json")
    assert next_commands(start(tmp_path, port=9001)) == [
        f"c login --port 9001 --data-dir {tmp_path}",
        f"c demo --port 9001 --data-dir {tmp_path}",
    ]


def test_it_handles_a_filled_sample(tmp_path: Path) -> None:
    (tmp_path / "example-users.json").touch()
    (tmp_path / "demo.done").touch()

    assert next_commands(start(tmp_path)) == [f"c login --data-dir {tmp_path}"]


def test_it_shows_commands_that_are_too_wide_in_one_piece_below_the_box(tmp_path: Path) -> None:
    folder = tmp_path / ("long-" * 12)
    folder.mkdir()
    (folder / "example-users.json").touch()

    lines = draw_start(start(folder), columns=80, is_unicode=True).splitlines()

    assert lines[-2:] == next_commands(start(folder))
    assert {len(line) for line in lines[: lines.index("")]} == {80}
    assert not any("Next" in line for line in lines[: lines.index("")])


def test_it_shows_short_commands_in_the_box() -> None:
    default = Settings.model_fields["data_dir"].get_default(call_default_factory=True)

    lines = draw_start(start(default), columns=80, is_unicode=True).splitlines()

    assert f"│ {'':<11}{'c login':<65} │" in lines
    assert lines[-1].startswith("└")


def test_it_handles_a_later_start(tmp_path: Path) -> None:
    first = dict(box_rows(start(tmp_path)))
    later = dict(box_rows(start(tmp_path, is_first=False)))

    assert {name for name in first if first[name] != later[name]} == {"Data"}


def test_it_handles_an_installation_without_sample_users(tmp_path: Path) -> None:
    rows = dict(box_rows(start(tmp_path, embedded_identity=False)))

    assert not {"Sign-in", "Users", "Passwords"} & rows.keys()


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("is_unicode", [True, False])
def test_it_fits_the_columns(columns: int, *, is_unicode: bool) -> None:
    rows = [("Path", "/" + "long/" * 30), ("Next", "a command " * 12), ("", "below")]

    lines = draw_box("Title", rows, columns=columns, is_unicode=is_unicode).splitlines()

    assert {len(line) for line in lines} == {columns}
    assert "".join(lines).isascii() != is_unicode
    assert "".join(line[13:-2].rstrip() for line in lines[1:]).startswith("/" + "long/" * 30)
