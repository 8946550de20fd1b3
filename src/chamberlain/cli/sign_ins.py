# SPDX-License-Identifier: Apache-2.0
"""Store contexts and sign-ins in two private files.

`contexts.json` has the services by name, each with its sign-in; `tokens.json` is the cache of the sign-in library. Both
are replaced atomically. A reader of tokens holds the lock that both files share, since using a token may replace it.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from chamberlain.cli.errors import Misused

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
class Context:
    """A service, and how a user signs in to it.

    Issuer, tenant and client are defaults of `login`.
    """

    server: str
    certificates: str | None = None
    issuer: str | None = None
    tenant: str | None = None
    client_id: str | None = None
    sign_in: Profile | None = None


@dataclass(frozen=True, slots=True)
class Contexts:
    """All contexts by name, and the name of the current one."""

    current: str | None = None
    contexts: Mapping[str, Context] = field(default_factory=dict)

    def require(self, name: str) -> Context:
        """Return a context. Raises Misused if there is none of this name."""
        if name in self.contexts:
            return self.contexts[name]
        near = get_close_matches(name, self.contexts, 1)
        hint = f"Did you mean {near[0]}?" if near else "Run chamberlain context list to see all."
        raise Misused(f"There is no context {name}. {hint}")

    def name_of(self, server: str) -> str:
        """Return the context of a server, or a new name.

        The current context comes first.
        """
        named = [name for name, context in self.contexts.items() if context.server == server]
        if named:
            return self.current if self.current in named else named[0]
        host = urlsplit(server).netloc
        return server if not host or host in self.contexts else host


@dataclass(frozen=True, slots=True)
class _Profiles:
    """The file before there were contexts: one sign-in for each server."""

    last: str | None = None
    servers: Mapping[str, Profile] = field(default_factory=dict)

    def contexts(self) -> Contexts:
        """Return a context for each server."""
        found = Contexts()
        servers = {**({self.last: None} if self.last else {}), **self.servers}
        for server, profile in servers.items():
            context = Context(server, certificates=profile.certificates if profile else None, sign_in=profile)
            found = replace(found, contexts={**found.contexts, found.name_of(server): context})
        return replace(found, current=found.name_of(self.last) if self.last else None)


class SignInFailed(Exception):
    """The provider refused. The message has its reason and the cure."""


class SignInEnded(Exception):
    """No user is signed in, or the sign-in has expired.

    `advice` has the command that signs in.
    """

    def __init__(self, sentence: str, *, advice: str = "Sign in: chamberlain login.") -> None:
        super().__init__(sentence)
        self.advice = advice


class ProviderUnreachable(Exception):
    """The provider does not answer, or is no OpenID provider."""


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

    def contexts(self) -> Contexts:
        """Return all contexts."""
        text = self._read("contexts.json")
        if text is not None:
            return self._understood("contexts.json", text, Contexts)
        old = self._read("profiles.json")
        return Contexts() if old is None else self._understood("profiles.json", old, _Profiles).contexts()

    def context(self, name: str) -> Context | None:
        """Return a context."""
        return self.contexts().contexts.get(name)

    def profile(self, name: str) -> Profile | None:
        """Return the sign-in of a context."""
        context = self.context(name)
        return None if context is None else context.sign_in

    def write_contexts(self, contexts: Contexts) -> None:
        """Replace all contexts. The caller holds the lock."""
        self._write("contexts.json", msgspec.json.format(msgspec.json.encode(contexts), indent=2).decode() + "\n")
        with self._told():
            (self._folder / "profiles.json").unlink(missing_ok=True)

    def remember(self, name: str, context: Context) -> None:
        """Save a context and make it the current one.

        The caller holds the lock.
        """
        self.write_contexts(Contexts(name, {**self.contexts().contexts, name: context}))

    def is_used(self, account: str) -> bool:
        """Whether any context still has this account."""
        return any(each.sign_in and each.sign_in.account == account for each in self.contexts().contexts.values())

    def read_tokens(self) -> str | None:
        """The cache of the sign-in library, `None` when there is none."""
        text = self._read("tokens.json")
        if text is not None:
            self._understood("tokens.json", text, dict[str, dict[str, dict[str, object]]])
        return text

    def write_tokens(self, text: str) -> None:
        """Replace the cache. The caller holds the lock."""
        self._write("tokens.json", text)

    def _understood(self, name: str, text: str, type_: type[T]) -> T:
        try:
            return msgspec.json.decode(text, type=type_)
        except msgspec.DecodeError as error:
            path = self._folder / name
            sentence = f"{path} cannot be understood ({error}). Remove it, and sign in again: chamberlain login."
            raise SignInsUnreadable(sentence) from error

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
