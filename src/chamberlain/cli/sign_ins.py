"""Store the sign-ins in two private files of the user's config folder.

`profiles.json` has the user and the kind of sign-in of each server; `tokens.json` is the cache of the sign-in library.
Both are replaced atomically. A reader of tokens holds the lock that both files share, since using a token may replace
it.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Profile:
    """A saved sign-in.

    Each element of `scopes` is one token; `account` is the id of the library.
    """

    server: str
    issuer: str
    client_id: str
    scopes: tuple[tuple[str, ...], ...]
    account: str
    username: str
    certificates: str | None = None
    sign_out_page: str | None = None


@dataclass(frozen=True, slots=True)
class _Profiles:
    last: str | None = None
    servers: Mapping[str, Profile] = field(default_factory=dict)


class SignInsUnreadable(Exception):
    """The folder cannot be used.

    The message names the file and the fix.
    """


class SignIns:
    """The folder. It is made when something is first kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the tokens against other processes of this user."""
        with self._told():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def last_server(self) -> str | None:
        """Return the server of the latest sign-in."""
        return self._profiles().last

    def profile(self, server: str) -> Profile | None:
        """Return the sign-in at a server."""
        return self._profiles().servers.get(server)

    def remember(self, profile: Profile) -> None:
        """Save a sign-in, and replace that of its server.

        The caller holds the lock.
        """
        kept = self._profiles()
        self._write_profiles(_Profiles(profile.server, {**kept.servers, profile.server: profile}))

    def forget(self, server: str) -> None:
        """Keep it no longer. To be called under the lock."""
        kept = self._profiles()
        servers = {name: profile for name, profile in kept.servers.items() if name != server}
        self._write_profiles(replace(kept, servers=servers))

    def is_used(self, account: str) -> bool:
        """Whether any server still has this account."""
        return any(profile.account == account for profile in self._profiles().servers.values())

    def read_tokens(self) -> str | None:
        """The cache of the sign-in library, `None` when there is none."""
        text = self._read("tokens.json")
        if text is not None:
            self._understood("tokens.json", text, dict[str, dict[str, dict[str, object]]])
        return text

    def write_tokens(self, text: str) -> None:
        """Replace the cache. The caller holds the lock."""
        self._write("tokens.json", text)

    def _profiles(self) -> _Profiles:
        text = self._read("profiles.json")
        return _Profiles() if text is None else self._understood("profiles.json", text, _Profiles)

    def _understood(self, name: str, text: str, type_: type[T]) -> T:
        try:
            return msgspec.json.decode(text, type=type_)
        except msgspec.DecodeError as error:
            path = self._folder / name
            sentence = f"{path} cannot be understood ({error}). Remove it, and sign in again: chamberlain login."
            raise SignInsUnreadable(sentence) from error

    def _write_profiles(self, profiles: _Profiles) -> None:
        self._write("profiles.json", msgspec.json.format(msgspec.json.encode(profiles), indent=2).decode() + "\n")

    def _read(self, name: str) -> str | None:
        with self._told():
            try:
                return (self._folder / name).read_text(encoding="utf-8")
            except FileNotFoundError:
                return None

    def _write(self, name: str, text: str) -> None:
        unfinished = self._folder / f".{name}.{os.getpid()}"
        with self._told():
            try:
                # A file that exists may belong to another user, or be readable for others.
                unfinished.unlink(missing_ok=True)
                descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
                unfinished.replace(self._folder / name)
            finally:
                unfinished.unlink(missing_ok=True)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            sentence = f"{self._folder} cannot be used ({reason}). CHAMBERLAIN_CONFIG_DIR may name another folder."
            raise SignInsUnreadable(sentence) from error
