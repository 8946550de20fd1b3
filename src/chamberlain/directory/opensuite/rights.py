# SPDX-License-Identifier: Apache-2.0
"""Rights of users in the folders of a mailbox. Pure.

Dovecot copies the rights of a folder to each new folder in it. Full access is therefore compared, granted and revoked
in every folder. A folder without entries of its own has the rights of INBOX, and an entry there would replace all of
them. So rights are set only in INBOX and in folders that have entries.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from chamberlain.directory.mailboxes import PermissionLevel
from chamberlain.directory.opensuite.doveadm import FULL_RIGHTS, INBOX, Command, Folder, delete_rights, set_rights

_FULL: Final = frozenset(FULL_RIGHTS)
_NO_FOLDER: Final = Folder({}, has_entries=False)

Folders = Mapping[str, Folder]


def rights_commands(
    mailbox: str, folders: Folders, *, granted: Collection[str], revoked: Collection[str]
) -> Sequence[Command]:
    """Return the commands that grant and revoke full access where missing.

    Parents are before their folders, because new folders copy the rights of their parents.
    """
    commands = []
    for name in sorted({INBOX, *folders}, key=lambda each: (each != INBOX, each)):
        folder = folders.get(name, _NO_FOLDER)
        commands += [delete_rights(mailbox, name, user) for user in revoked if user in folder.rights]
        if name == INBOX or folder.has_entries:
            commands += [set_rights(mailbox, name, user) for user in granted if not _is_full(folder, user)]
    return commands


def has_rights(folders: Folders, user: str) -> bool:
    """Return whether a user has rights in any folder."""
    return any(folder.rights.get(user) for folder in folders.values())


def has_full_access(folders: Folders, user: str) -> bool:
    """Return whether a user has full access to every folder."""
    inbox = folders.get(INBOX, _NO_FOLDER)
    return _is_full(inbox, user) and all(_is_full(each, user) for each in folders.values() if each.has_entries)


def permission_level(folders: Folders, user: str, *, may_send: bool, is_recorded: bool) -> PermissionLevel | None:
    """Return the permission of a user; None without any.

    `is_recorded` is true if the directory has full access of the user. Incomplete rights have the level NONE: they are
    not what any request wants, and a revocation finds them.
    """
    if has_full_access(folders, user):
        return PermissionLevel.FULL_ACCESS
    if is_recorded or has_rights(folders, user):
        return PermissionLevel.NONE
    return PermissionLevel.SEND_AS if may_send else None


def _is_full(folder: Folder, user: str) -> bool:
    return folder.rights.get(user, frozenset()) >= _FULL
