# SPDX-License-Identifier: Apache-2.0
"""A backup as a file: complete or refused, private, and never over an existing file."""

import io
import stat
import tarfile
from pathlib import Path

import pytest

from chamberlain.app.backup import BackupUnusable, Head, folder_beside, open_backup, require_free, write_backup

HEAD = Head(taken_at="2026-11-20T09:30:00Z", service="0.1.0", postgres=18, migrations=("a/0001.pre.sql",), keys=("k1",))
PARTS = {"base.tar.gz": bytes(range(256)) * 300, "pg_wal.tar.gz": b"log"}


def write(path: Path, head: Head = HEAD) -> Path:
    with folder_beside(path) as folder:
        for name, content in PARTS.items():
            (folder / name).write_bytes(content)
        write_backup(path, head, [folder / name for name in PARTS])
    return path


def test_it_works(tmp_path: Path) -> None:
    backup = open_backup(write(tmp_path / "backup"))

    assert backup.head == HEAD
    for name, content in PARTS.items():
        with backup.part(name) as file:
            assert file.read() == content
    assert stat.S_IMODE(backup.path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["backup"]


def test_it_rejects_to_take_the_place_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    path.write_text("mine")

    with pytest.raises(BackupUnusable, match="Name a new file"):
        require_free(path)
    with pytest.raises(BackupUnusable, match="Name a new file"):
        write(path)

    assert path.read_text() == "mine"
    assert [each.name for each in tmp_path.iterdir()] == ["backup"]


def test_it_rejects_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BackupUnusable, match="There is no folder"):
        require_free(tmp_path / "nowhere" / "backup")


def test_it_rejects_a_file_that_was_cut_off_anywhere(tmp_path: Path) -> None:
    path = write(tmp_path / "backup")
    whole = path.read_bytes()
    # Behind the last part there is only what fills up the last block of the archive.
    end = whole.rindex(b'{"digest"')

    for size in (0, 1, 100, 511, 512, 1024, 1500, 40_000, len(whole) // 2, end - 600, end + 20):
        path.write_bytes(whole[:size])
        with pytest.raises(BackupUnusable, match="not a whole backup"):
            open_backup(path)


def test_it_rejects_a_file_in_which_something_was_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "backup")
    whole = path.read_bytes()

    for place in (whole.index(b'"postgres":18') + 12, whole.index(b"a/0001"), 2000, 50_000, whole.rindex(b"log")):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(BackupUnusable, match="not a whole backup"):
            open_backup(path)


@pytest.mark.parametrize("content", [b"", b"something else", bytes(10_240)])
def test_it_rejects_what_is_no_backup(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "backup"
    path.write_bytes(content)

    with pytest.raises(BackupUnusable, match="not a whole backup"):
        open_backup(path)


def test_it_rejects_another_form(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    content = b'{"form":2,"about":{"takenAt":"","service":"","postgres":18,"migrations":[],"keys":[]},"digests":{}}'
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("backup.json")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))

    with pytest.raises(BackupUnusable, match="a form that this version does not know"):
        open_backup(path)


def test_it_rejects_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BackupUnusable, match="cannot be read"):
        open_backup(tmp_path / "nowhere")
