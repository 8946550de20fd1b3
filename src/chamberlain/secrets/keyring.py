"""The key ring: secrets at rest are sealed with AES-GCM, bound to the place where they are kept."""

import base64
import fcntl
import logging
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32

logger = logging.getLogger(__name__)


class KeysUnusable(Exception):
    """The keys file cannot be read or written, or what was sealed cannot be opened with it."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a file by their ids, in their order; there is at least one."""

    by_id: Mapping[str, bytes] = field(repr=False)

    @property
    def first(self) -> str:
        """The id of the one that seals."""
        return next(iter(self.by_id))

    def with_first(self, name: str, key: bytes) -> "Keys":
        """The same with this one as the first, which may be there already."""
        return Keys({name: key, **{other: each for other, each in self.by_id.items() if other != name}})

    def with_last(self, name: str, key: bytes) -> "Keys":
        """The same with one more, which opens and does not seal."""
        return Keys({**self.by_id, name: key})

    def without(self, name: str) -> "Keys":
        """The same without this one, which is not the first."""
        return Keys({other: each for other, each in self.by_id.items() if other != name})


class KeysFile:
    """A keys file that others may write as well: it is read anew when it has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, ...] | None = None

    def read(self) -> Keys:
        """The keys. Raises KeysUnusable with what to do."""
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
        """Make one with a new key where there is no file. Raises KeysUnusable."""
        try:
            if not self.path.exists():
                _make(self.path)
        except OSError as error:
            raise self._unreachable(error) from error

    def newer(self) -> Keys | None:
        """The keys if the file is not as it was when it was read last. One that cannot be used is told of once; whoever
        asks goes on with what they have."""
        with suppress(OSError):
            if self._state() != self._seen:
                return self._changed()
        return None

    def write(self, keys: Keys) -> None:
        """Put these in its place, whole or not at all, with its owner and its mode. Raises KeysUnusable."""
        text = "".join(f"{name} {base64.b64encode(key).decode()}\n" for name, key in keys.by_id.items())
        try:
            # What a link leads to is what is written, and not the link.
            path = self.path.resolve(strict=True)
            owner = path.stat()
            unfinished = _write_beside(path, text)
            try:
                if (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
                    os.chown(unfinished, owner.st_uid, owner.st_gid)
                # The group may read it, where the service is one of it. Behind chown, which takes bits away.
                unfinished.chmod(stat.S_IMODE(owner.st_mode))
                unfinished.replace(path)
                _settle(path.parent)
            finally:
                unfinished.unlink(missing_ok=True)
        except OSError as error:
            raise KeysUnusable(f"{self.path} cannot be written ({error.strerror}). Run this as who owns it.") from error

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else on this machine changes the file for as long as the block runs. Raises KeysUnusable, also when
        somebody else is at it."""
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
            # Before it is read: what comes in between is seen at the next look.
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
    """An id that no other key has, and a key."""
    return f"k{secrets.token_hex(4)}", secrets.token_bytes(KEY_BYTES)


def _make(path: Path) -> None:
    # Two processes that start at once must end with one key: the file appears whole, and the first one stays.
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
    """Have the name of a file outlive a power cut."""
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


__all__ = ["Keyring", "KeysUnusable", "load_keyring"]

# NIST SP 800-38D, 8.2: 96 bits of nonce are what the mode is made for.
NONCE_BYTES = 12


class Keyring:
    """Keys by id; `first` is the one that seals. `newer` gives other keys in their place, when there are any; it is
    asked each time."""

    def __init__(
        self, first: str, keys: Mapping[str, bytes], *, newer: Callable[[], Keys | None] = lambda: None
    ) -> None:
        self.first = first
        self.keys = keys
        self._newer = newer

    def __repr__(self) -> str:
        return f"Keyring(first={self.first!r})"

    def seal(self, plain: bytes, context: str) -> bytes:
        """Seal for one place: `context` names tenant, table and row, and opening needs the same again."""
        self._follow()
        nonce = secrets.token_bytes(NONCE_BYTES)
        name = self.first.encode()
        return bytes([len(name)]) + name + nonce + AESGCM(self.keys[self.first]).encrypt(nonce, plain, context.encode())

    def open(self, sealed: bytes, context: str) -> bytes:
        """Open what was sealed for this place. Raises KeysUnusable."""
        end = 1 + sealed[0] if sealed else 0
        nonce, rest = sealed[end : end + NONCE_BYTES], sealed[end + NONCE_BYTES :]
        name = sealed[1:end].decode(errors="replace")
        # Another process may have sealed it with a key that was made meanwhile; and one that was dropped opens no more.
        self._follow()
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

    def _follow(self) -> None:
        if (keys := self._newer()) is not None:
            self.first, self.keys = keys.first, keys.by_id


def load_keyring(path: Path) -> Keyring:
    """The keys of a file, which is made where there is none; the ring follows it when it changes. Raises KeysUnusable
    with what to do."""
    file = KeysFile(path)
    file.make()
    keys = file.read()
    return Keyring(keys.first, keys.by_id, newer=file.newer)
