# SPDX-License-Identifier: Apache-2.0
"""The key ring: what is sealed opens with the same key in the same place, and nowhere else."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chamberlain.secrets.keyring import Keyring, KeysFile, KeysUnusable, load_keyring

KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
OTHER_KEY = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
PLACE = "tenant/signing_key/7"


def test_it_works(tmp_path: Path) -> None:
    path = tmp_path / "keys"

    made = load_keyring(path)
    sealed = made.seal(b"secret", PLACE)
    read_again = load_keyring(path)

    assert b"secret" not in sealed
    assert read_again.open(sealed, PLACE) == b"secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["keys"]


def test_the_first_key_seals_and_all_of_them_open(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"old {KEY}\n")
    sealed_before = load_keyring(path).seal(b"secret", PLACE)
    path.write_text(f"new {OTHER_KEY}\n\nold {KEY}\n")

    keyring = load_keyring(path)

    assert keyring.first == "new"
    assert keyring.open(sealed_before, PLACE) == b"secret"
    with pytest.raises(KeysUnusable, match='no key "new"'):
        Keyring("old", {"old": keyring.keys["old"]}).open(keyring.seal(b"secret", PLACE), PLACE)


def test_keys_are_not_shown(tmp_path: Path) -> None:
    keyring = load_keyring(tmp_path / "keys")

    assert repr(keyring) == f"Keyring(first={keyring.first!r})"


def test_two_that_start_at_once_have_one_key(tmp_path: Path) -> None:
    path = tmp_path / "keys"

    with ThreadPoolExecutor(8) as threads:
        keyrings = list(threads.map(lambda _: load_keyring(path), range(8)))

    assert {keyring.first for keyring in keyrings} == {load_keyring(path).first}
    assert len({bytes(keyring.keys[keyring.first]) for keyring in keyrings}) == 1


def test_it_rejects_another_place_and_bytes_that_were_changed(tmp_path: Path) -> None:
    keyring = load_keyring(tmp_path / "keys")
    sealed = keyring.seal(b"secret", PLACE)

    with pytest.raises(KeysUnusable, match="does not open"):
        keyring.open(sealed, "tenant/signing_key/8")
    with pytest.raises(KeysUnusable, match="does not open"):
        keyring.open(sealed[:-1] + bytes([sealed[-1] ^ 1]), PLACE)
    with pytest.raises(KeysUnusable, match="does not open"):
        keyring.open(sealed[:14], PLACE)
    with pytest.raises(KeysUnusable, match="no key"):
        keyring.open(b"", PLACE)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "holds no key"),
        ("\n \n", "holds no key"),
        ("old AAAA\n", "line 1: a line is an id"),
        (f"old {KEY}\nnew not!base64\n", "line 2: the key is not base64"),
        (f" {KEY}\n", "line 1: a line is an id"),
        (f"{'x' * 101} {KEY}\n", "line 1: a line is an id"),
        (f"old {KEY}\nold {OTHER_KEY}\n", 'line 2: there is a key "old" already'),
        ("ключ", "is no keys file"),
    ],
)
def test_it_rejects_a_file_of(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "keys"
    path.write_text(content)

    with pytest.raises(KeysUnusable, match=complaint):
        load_keyring(path)


def test_it_rejects_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KeysUnusable, match="cannot be read or made"):
        load_keyring(tmp_path / "nowhere" / "keys")


def test_it_follows_its_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"old {KEY}\n")
    here, elsewhere = load_keyring(path), KeysFile(path)
    sealed_before = here.seal(b"secret", PLACE)

    elsewhere.write(elsewhere.read().with_first("new", bytes([1] * 32)))
    sealed_elsewhere = load_keyring(path).seal(b"secret", PLACE)

    assert here.open(sealed_elsewhere, PLACE) == b"secret"
    assert here.seal(b"secret", PLACE)[1:4] == b"new"
    assert here.open(sealed_before, PLACE) == b"secret"


def test_it_goes_on_when_its_file_is_broken_or_gone(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"old {KEY}\n")
    keyring = load_keyring(path)

    path.write_text("broken\n")
    first = keyring.seal(b"secret", PLACE)
    path.unlink()
    second = keyring.seal(b"secret", PLACE)

    assert (first[1:4], second[1:4]) == (b"old", b"old")
    assert not path.exists()


def test_it_rejects_to_read_a_file_that_is_gone_and_makes_none(tmp_path: Path) -> None:
    file = KeysFile(tmp_path / "keys")

    with pytest.raises(KeysUnusable, match="cannot be read or made"):
        file.read()

    assert not file.path.exists()


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_file_is_written_again_with_its_mode_and_through_a_link(tmp_path: Path, mode: int) -> None:
    path, link = tmp_path / "keys", tmp_path / "link"
    path.write_text(f"old {KEY}\n")
    path.chmod(mode)
    link.symlink_to(path)
    file = KeysFile(link)

    with file.alone():
        file.write(file.read().with_last("new", bytes(32)))

    assert path.read_text() == f"old {KEY}\nnew {KEY}\n"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert link.is_symlink()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["keys", "link"]


def test_the_first_key_signs_and_all_of_them_verify() -> None:
    old, new = bytes(32), bytes([1]) * 32
    before, after = Keyring("old", {"old": old}), Keyring("new", {"new": new, "old": old})

    signature = before.sign(b"message", "purpose")

    assert len(signature) == 32
    assert before.sign(b"message", "purpose") == signature
    assert after.sign(b"message", "purpose") != signature
    assert after.is_signed(b"message", signature, "purpose")
    assert after.is_signed(b"message", signature[:16], "purpose")
    assert not after.is_signed(b"message", signature, "another purpose")
    assert not after.is_signed(b"another message", signature, "purpose")
    assert not Keyring("new", {"new": new}).is_signed(b"message", signature, "purpose")
