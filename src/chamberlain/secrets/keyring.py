# SPDX-License-Identifier: Apache-2.0
"""The key ring: encrypt stored secrets with AES-GCM, and sign messages.

A secret is bound to its place. The keys file has one key per line: an id and 32 bytes in base64. The first key encrypts
and signs, all of them decrypt and verify.
"""

import base64
import fcntl
import hmac
import logging
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32

Cursor = TypeVar("Cursor")

logger = logging.getLogger(__name__)


class KeysUnusable(Exception):
    """The keys file is unusable, or a stored secret does not decrypt."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a file by id, in their order.

    There is at least one.
    """

    by_id: Mapping[str, bytes] = field(repr=False)

    @property
    def first(self) -> str:
        """Return the id of the key that encrypts."""
        return next(iter(self.by_id))

    def with_first(self, name: str, key: bytes) -> "Keys":
        """Return the keys with this one first; it may exist already."""
        return Keys({name: key, **{other: each for other, each in self.by_id.items() if other != name}})

    def with_last(self, name: str, key: bytes) -> "Keys":
        """Return the keys with one more, which only decrypts."""
        return Keys({**self.by_id, name: key})

    def without(self, name: str) -> "Keys":
        """Return the keys without this one, which is not the first."""
        return Keys({other: each for other, each in self.by_id.items() if other != name})


class KeysFile:
    """A keys file that other processes may change.

    It is read again after a change.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, ...] | None = None

    def read(self) -> Keys:
        """Read the keys. Raises KeysUnusable."""
        text = self._text()
        keys: dict[str, bytes] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                place = f"{self.path}, line {number}"
                name, key = _read_line(line, place)
                if name in keys:
                    raise KeysUnusable(f'{place}: there is a key "{name}" already. Each id may be there once.')
                keys[name] = key
        if not keys:
            raise KeysUnusable(f"{self.path} holds no key. A line is an id, a blank, and 32 bytes in base64.")
        return Keys(keys)

    def make(self) -> None:
        """Create the file with a new key, unless it exists. Raises KeysUnusable."""
        try:
            if not self.path.exists():
                _make(self.path)
        except OSError as error:
            raise self._unreachable(error) from error

    def newer(self) -> Keys | None:
        """Return the keys if the file has changed since the last read.

        An unusable file is logged once; the caller keeps its keys.
        """
        with suppress(OSError):
            if self._state() != self._seen:
                return self._changed()
        return None

    def write(self, keys: Keys) -> None:
        """Replace the file atomically, with its owner and mode. Raises KeysUnusable."""
        text = "".join(f"{name} {base64.b64encode(key).decode()}\n" for name, key in keys.by_id.items())
        try:
            # Follow a symbolic link and replace its target.
            path = self.path.resolve(strict=True)
            owner = path.stat()
            unfinished = _write_beside(path, text)
            try:
                if (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
                    os.chown(unfinished, owner.st_uid, owner.st_gid)
                # After chown, which clears bits. The service may read the file through its group.
                unfinished.chmod(stat.S_IMODE(owner.st_mode))
                unfinished.replace(path)
                _settle(path.parent)
            finally:
                unfinished.unlink(missing_ok=True)
        except OSError as error:
            raise KeysUnusable(f"{self.path} cannot be written ({error.strerror}). Run this as who owns it.") from error

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the file against changes of other processes on this machine.

        Raises KeysUnusable, also if another process holds the lock.
        """
        try:
            folder = os.open(self.path.resolve().parent, os.O_RDONLY)
        except OSError as error:
            raise KeysUnusable(f"{self.path} cannot be reached ({error.strerror}).") from error
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise KeysUnusable(f"Another command is just changing {self.path}. Run this again.") from error
            yield
        finally:
            os.close(folder)

    def _changed(self) -> Keys | None:
        try:
            return self.read()
        except KeysUnusable as error:
            logger.warning("The keys file has changed and cannot be used; what was known goes on: %s", error)
            return None

    def _text(self) -> str:
        try:
            # Before the read: a later change is noticed at the next look.
            self._seen = self._state()
            return self.path.read_text(encoding="ascii")
        except OSError as error:
            raise self._unreachable(error) from error
        except UnicodeDecodeError as error:
            raise KeysUnusable(f"{self.path} is no keys file: it holds more than letters, digits and signs.") from error

    def _unreachable(self, error: OSError) -> KeysUnusable:
        return KeysUnusable(f"{self.path} cannot be read or made ({error.strerror}). Let the service read it.")

    def _state(self) -> tuple[int, ...]:
        found = self.path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns


def new_key() -> tuple[str, bytes]:
    """Return a new id and a new key."""
    return f"k{secrets.token_hex(4)}", secrets.token_bytes(KEY_BYTES)


def _make(path: Path) -> None:
    # Two processes that start at once must use one key: the file appears complete, and the first one stays.
    name, key = new_key()
    unfinished = _write_beside(path, f"{name} {base64.b64encode(key).decode()}\n")
    try:
        with suppress(FileExistsError):
            path.hardlink_to(unfinished)
    finally:
        unfinished.unlink()


def _write_beside(path: Path, text: str) -> Path:
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return unfinished


def _settle(folder: Path) -> None:
    """Make the name of a file durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


__all__ = ["Keyring", "KeysUnusable", "Resealed", "load_keyring"]

# NIST SP 800-38D, 8.2 recommends nonces of 96 bits.
NONCE_BYTES = 12


@dataclass(frozen=True, slots=True)
class Resealed(Generic[Cursor]):
    """The result of one batch: the numbers of re-encrypted and undecryptable secrets.

    `next` is the cursor of the next batch, None at the end.
    """

    done: int
    left: int
    next: Cursor | None


class Keyring:
    """Keys by id; `first` encrypts.

    `newer` returns changed keys; it is called for each use.
    """

    def __init__(
        self, first: str, keys: Mapping[str, bytes], *, newer: Callable[[], Keys | None] = lambda: None
    ) -> None:
        self.first = first
        self.keys = keys
        self._newer = newer

    def __repr__(self) -> str:
        return f"Keyring(first={self.first!r})"

    def seal(self, plain: bytes, context: str) -> bytes:
        """Encrypt for one place.

        `context` names tenant, table and row. Decrypting needs the same.
        """
        self._follow()
        nonce = secrets.token_bytes(NONCE_BYTES)
        return self.first_header + nonce + AESGCM(self.keys[self.first]).encrypt(nonce, plain, context.encode())

    @property
    def first_header(self) -> bytes:
        """Return the beginning of all secrets that the first key has encrypted."""
        name = self.first.encode()
        return bytes([len(name)]) + name

    def reseal_all(
        self, stored: Sequence[tuple[Cursor, bytes, str]], most: int
    ) -> tuple[Mapping[Cursor, bytes], Resealed[Cursor]]:
        """Re-encrypt a batch of up to `most` secrets with the first key.

        Each has a place, the encrypted secret and its context. Returns the new ones by place. A secret that cannot be
        decrypted is left out.
        """
        sealed: dict[Cursor, bytes] = {}
        for place, secret, context in stored:
            with suppress(KeysUnusable):
                sealed[place] = self.seal(self.open(secret, context), context)
        following = stored[-1][0] if len(stored) == most else None
        return sealed, Resealed(len(sealed), len(stored) - len(sealed), following)

    def open(self, sealed: bytes, context: str) -> bytes:
        """Decrypt a secret of this place. Raises KeysUnusable."""
        end = 1 + sealed[0] if sealed else 0
        nonce, rest = sealed[end : end + NONCE_BYTES], sealed[end + NONCE_BYTES :]
        name = sealed[1:end].decode(errors="replace")
        # Another process may have used a newer key, and removed keys decrypt no more.
        self._follow()
        key = self.keys.get(name)
        if key is None:
            raise KeysUnusable(f'The keys file has no key "{name}", with which a stored secret is sealed. Put it back.')
        try:
            return AESGCM(key).decrypt(nonce, rest, context.encode())
        except (InvalidTag, ValueError) as error:
            # A truncated nonce is a ValueError.
            raise KeysUnusable(
                f'A secret sealed with the key "{name}" does not open: the key or the row was changed.'
            ) from error

    def sign(self, message: bytes, purpose: str) -> bytes:
        """Return the signature of a message by the first key.

        It has 32 bytes. The same message always has the same signature. Each purpose has a key of its own.
        """
        self._follow()
        return _signature(self.keys[self.first], message, purpose)

    def is_signed(self, message: bytes, signature: bytes, purpose: str) -> bool:
        """Return whether any key has signed a message.

        `signature` may be a beginning of the whole one. The caller decides on its least length.
        """
        self._follow()
        signatures = [_signature(key, message, purpose)[: len(signature)] for key in self.keys.values()]
        return any(hmac.compare_digest(each, signature) for each in signatures)

    def _follow(self) -> None:
        if (keys := self._newer()) is not None:
            self.first, self.keys = keys.first, keys.by_id


def _signature(key: bytes, message: bytes, purpose: str) -> bytes:
    derived = hmac.digest(key, b"signature\0" + purpose.encode(), "sha256")
    return hmac.digest(derived, message, "sha256")


def load_keyring(path: Path) -> Keyring:
    """Load the keys of a file; a missing file is created.

    The ring follows changes of the file. Raises KeysUnusable.
    """
    file = KeysFile(path)
    file.make()
    keys = file.read()
    return Keyring(keys.first, keys.by_id, newer=file.newer)
