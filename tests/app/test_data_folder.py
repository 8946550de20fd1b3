# SPDX-License-Identifier: Apache-2.0
"""The data folder: who may look into it, and what of it can be trusted."""

import os
import stat
from pathlib import Path

import pytest

from chamberlain.app.data_folder import DataFolderUnusable, keep_secret, make_secret, open_data_folder


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_works(tmp_path: Path) -> None:
    folder = open_data_folder(tmp_path / "deep" / "data")
    secret = make_secret(folder.local_secret)

    assert mode_of(folder.path) == (0o711 if os.geteuid() == 0 else 0o700)
    assert mode_of(folder.local_secret) == 0o600
    assert folder.local_secret.read_text() == f"{secret}\n"


def test_a_new_start_makes_a_new_local_secret(tmp_path: Path) -> None:
    folder = open_data_folder(tmp_path / "data")

    assert make_secret(folder.local_secret) != make_secret(folder.local_secret)


def test_a_kept_secret_stays(tmp_path: Path) -> None:
    path = tmp_path / "automation.secret"

    assert keep_secret(path) == keep_secret(path)


@pytest.mark.parametrize("cut_off", ["", "\n", "short\n"])
def test_it_rejects_a_secret_that_is_not_whole_and_makes_another(tmp_path: Path, cut_off: str) -> None:
    path = tmp_path / "automation.secret"
    path.write_text(cut_off)

    secret = keep_secret(path)

    assert len(secret) >= 32
    assert keep_secret(path) == secret


def test_it_rejects_a_folder_that_everybody_can_write_to_and_leaves_it_as_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)

    with pytest.raises(DataFolderUnusable, match="Name another by --data-dir"):
        open_data_folder(shared)

    assert mode_of(shared) == 0o1777


def test_it_rejects_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(DataFolderUnusable, match="is no folder"):
        open_data_folder(tmp_path / "file")


def test_it_takes_no_right_from_a_folder_that_is_there(tmp_path: Path) -> None:
    existing = tmp_path / "existing"
    existing.mkdir()
    existing.chmod(0o755)

    open_data_folder(existing)

    assert mode_of(existing) == 0o755
