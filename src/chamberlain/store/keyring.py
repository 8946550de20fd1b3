"""The key ring: secrets at rest are sealed with AES-GCM, bound to the place where they are kept.

A keys file has one key a line, an id and 32 bytes in base64. The first seals, all of them open.
"""

import base64
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

# NIST SP 800-38D, 8.2: 96 bits of nonce are what the mode is made for.
NONCE_BYTES = 12
KEY_BYTES = 32


class KeysUnusable(Exception):
    """The keys file cannot be read, or what was sealed cannot be opened with it."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """Keys by id; `first` is the one that seals."""

    first: str
    keys: Mapping[str, bytes] = field(repr=False)

    def seal(self, plain: bytes, context: str) -> bytes:
        """Seal for one place: `context` names tenant, table and row, and opening needs the same again."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        name = self.first.encode()
        return bytes([len(name)]) + name + nonce + AESGCM(self.keys[self.first]).encrypt(nonce, plain, context.encode())

    def open(self, sealed: bytes, context: str) -> bytes:
        """Open what was sealed for this place. Raises KeysUnusable."""
        end = 1 + sealed[0] if sealed else 0
        nonce, rest = sealed[end : end + NONCE_BYTES], sealed[end + NONCE_BYTES :]
        name = sealed[1:end].decode(errors="replace")
        key = self.keys.get(name)
        if key is None:
            raise KeysUnusable(f'The keys file has no key "{name}", with which a stored secret is sealed. Put it back.')
        try:
            return AESGCM(key).decrypt(nonce, rest, context.encode())
        except (InvalidTag, ValueError) as error:
            # A nonce that is cut off is a ValueError.
            raise KeysUnusable(
                f'A secret sealed with the key "{name}" does not open: the key or the row was changed.'
            ) from error


def load_keyring(path: Path) -> Keyring:
    """Read the keys file; make one with a new key where there is none. Raises KeysUnusable with what to do."""
    keys: dict[str, bytes] = {}
    for number, line in enumerate(_read_or_make(path).splitlines(), start=1):
        if line.strip():
            place = f"{path}, line {number}"
            name, key = _read_line(line, place)
            if name in keys:
                raise KeysUnusable(f'{place}: there is a key "{name}" already. Each id may be there once.')
            keys[name] = key
    if not keys:
        raise KeysUnusable(f"{path} holds no key. A line is an id, a blank, and 32 bytes in base64.")
    return Keyring(next(iter(keys)), keys)


def _read_or_make(path: Path) -> str:
    try:
        if not path.exists():
            _make_keys_file(path)
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise KeysUnusable(f"{path} cannot be read or made ({error.strerror}). Let the service read it.") from error
    except UnicodeDecodeError as error:
        raise KeysUnusable(f"{path} is no keys file: it holds more than letters, digits and signs.") from error


def _make_keys_file(path: Path) -> None:
    # Two processes that start at once must end with one key: the file appears whole, and the first one stays.
    key = base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"k{secrets.token_hex(4)} {key}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            path.hardlink_to(unfinished)
    finally:
        unfinished.unlink()


def _read_line(line: str, place: str) -> tuple[str, bytes]:
    name, _, text = line.strip().partition(" ")
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise KeysUnusable(f"{place}: the key is not base64.") from error
    if len(key) != KEY_BYTES or not 1 <= len(name) <= 100:
        raise KeysUnusable(
            f"{place}: a line is an id of up to 100 characters, a blank, and {KEY_BYTES} bytes in base64."
        )
    return name, key
