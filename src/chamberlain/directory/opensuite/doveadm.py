# SPDX-License-Identifier: Apache-2.0
"""Commands of doveadm, and the state of a mailbox in Dovecot. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from chamberlain.directory.opensuite.sieve import SCRIPT_NAME

INBOX: Final = "INBOX"
_SUBSCRIBE: Final = "mailboxSubscribe"
# Rights of full access. The right of administration (`a`) is not one of them: the service manages rights.
FULL_RIGHTS: Final = (
    "lookup",
    "read",
    "write",
    "write-seen",
    "write-deleted",
    "insert",
    "post",
    "expunge",
    "create",
    "delete",
)

# Exit codes of doveadm (sysexits.h; src/doveadm/doveadm.h calls 68 NOTFOUND and 65 NOTPOSSIBLE).
NOT_POSSIBLE: Final = 65
NO_USER: Final = 67
NOT_FOUND: Final = 68
# Folders can be deleted meanwhile, and those without messages (\NoSelect) cannot be opened.
_GONE: Final = frozenset({NOT_FOUND, NOT_POSSIBLE})


@dataclass(frozen=True, slots=True)
class Command:
    """A command for one user of Dovecot.

    `ignored` are exit codes that count as success.
    """

    name: str
    user: str
    parameters: Mapping[str, str | bool | Sequence[str]] = field(default_factory=dict)
    ignored: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one command: its rows, or an exit code."""

    rows: tuple[Mapping[str, str], ...] = ()
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of a mailbox, with rights by user name.

    A folder without entries has the rights of INBOX (`acl_defaults_from_inbox`). `has_entries` is true with an entry of
    any kind, such as that of a group.
    """

    rights: Mapping[str, frozenset[str]]
    has_entries: bool


@dataclass(frozen=True, slots=True)
class MailboxState:
    """Folders by name, and the active script of the automatic reply."""

    folders: Mapping[str, Folder]
    script: str | None


def names_several(user: str) -> bool:
    """Return whether doveadm runs a command for all users like this name."""
    return "*" in user or "?" in user


def list_folders(mailbox: str) -> Command:
    """List the folders of a mailbox, which Dovecot may not have yet."""
    return Command("mailboxList", mailbox, ignored=frozenset({NO_USER}))


def get_rights(mailbox: str, folder: str) -> Command:
    """Read the rights in a folder."""
    return Command("aclGet", mailbox, {"mailbox": folder}, _GONE)


def set_rights(mailbox: str, folder: str, user: str, rights: Iterable[str] = FULL_RIGHTS) -> Command:
    """Give a user exactly these rights in a folder. Dovecot creates INBOX."""
    ignored = frozenset[int]() if folder == INBOX else _GONE
    return Command("aclSet", mailbox, {"mailbox": folder, "id": f"user={user}", "right": [*rights]}, ignored)


def delete_rights(mailbox: str, folder: str, user: str) -> Command:
    """Remove the entry of a user in a folder."""
    return Command("aclDelete", mailbox, {"mailbox": folder, "id": f"user={user}"}, _GONE)


def list_again(mailbox: str) -> Command:
    """List the mailbox for all users with rights.

    Dovecot keeps the rights first and this list next. Setting rights that are present does not change the list.
    """
    return Command("aclRecalc", mailbox)


def subscribe(user: str, *folders: str) -> Command:
    """Show folders in the mail clients of a user."""
    return Command(_SUBSCRIBE, user, {"mailbox": folders}, frozenset({NO_USER}))


def join_subscriptions(commands: Sequence[Command]) -> tuple[Sequence[Command], Sequence[int]]:
    """Join the subscriptions of each user into one command, after all others.

    Dovecot reads and writes the list of a user as a whole. Also returns the place of each given command.
    """
    others = [each for each in commands if each.name != _SUBSCRIBE]
    folders: dict[str, list[str]] = {}
    for each in commands:
        if each.name == _SUBSCRIBE:
            folders.setdefault(each.user, []).extend(cast("Sequence[str]", each.parameters["mailbox"]))
    last = {user: len(others) + number for number, user in enumerate(folders)}
    before = iter(range(len(others)))
    places = [last[each.user] if each.name == _SUBSCRIBE else next(before) for each in commands]
    return [*others, *[subscribe(user, *listed) for user, listed in folders.items()]], places


def unsubscribe(user: str, folder: str) -> Command:
    """Remove a folder from the mail clients of a user."""
    return Command("mailboxUnsubscribe", user, {"mailbox": [folder]}, frozenset({NO_USER, NOT_FOUND}))


def list_scripts(mailbox: str) -> Command:
    """List the scripts of a mailbox."""
    return Command("sieveList", mailbox, ignored=frozenset({NO_USER, NOT_FOUND}))


def get_script(mailbox: str) -> Command:
    """Read the script of the automatic reply."""
    return Command("sieveGet", mailbox, {"scriptname": SCRIPT_NAME}, frozenset({NOT_FOUND}))


def put_script(mailbox: str, script: str) -> Command:
    """Store and activate the script of the automatic reply."""
    return Command("sievePut", mailbox, {"scriptname": SCRIPT_NAME, "activate": True, "file": script})


def parse_folder(rows: Iterable[Mapping[str, str]]) -> Folder:
    """Parse the rights in a folder.

    Entries of the global configuration are not its own.
    """
    own = [row for row in rows if not row.get("global")]
    rights = {
        row["id"].removeprefix("user="): frozenset(row.get("rights", "").split())
        for row in own
        if row.get("id", "").startswith("user=")
    }
    return Folder(rights, bool(own))


def has_active_script(rows: Iterable[Mapping[str, str]]) -> bool:
    """Return whether the script of the automatic reply is active."""
    return any(row.get("script") == SCRIPT_NAME and row.get("active") for row in rows)
