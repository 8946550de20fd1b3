# SPDX-License-Identifier: Apache-2.0
"""Sets rights in all folders, subscriptions and the reply in Dovecot."""

from collections.abc import Sequence
from typing import Final

from chamberlain.core.errors import Cause, TryAgain
from chamberlain.core.reasons import Reason
from chamberlain.directory.mailboxes import PermissionLevel
from chamberlain.directory.opensuite.attributes import Attributes
from chamberlain.directory.opensuite.doveadm import NO_USER, Command, list_again, put_script, subscribe, unsubscribe
from chamberlain.directory.opensuite.ldap import RETRY_BUSY
from chamberlain.directory.opensuite.mailbox_values import (
    Change,
    addresses_of,
    full_access_users,
    mailbox_name,
    missing_aliases,
    read_text,
    sends_replies,
)
from chamberlain.directory.opensuite.mailstore import Mailstore
from chamberlain.directory.opensuite.observed_mailboxes import has_reply
from chamberlain.directory.opensuite.rights import rights_commands
from chamberlain.directory.opensuite.sieve import render_reply
from chamberlain.directory.port import Shortfall
from chamberlain.directory.steps import Step

# Rounds of setting and reading rights. A folder that a client creates meanwhile has copies of old rights, and needs
# one more round.
_MOST_ROUNDS: Final = 5


class MailboxAccess:
    """Access to mailboxes, as their steps want it.

    The entry in a change is the one before its attributes of Dovecot were written.
    """

    def __init__(self, mailstore: Mailstore, names: Attributes) -> None:
        self._mailstore = mailstore
        self._names = names

    async def create(self, change: Change) -> tuple[Shortfall, ...]:
        """Set the access of a new mailbox.

        It has no folder but INBOX, which the first command creates. Raises TryAgain.
        """
        name = self._name(change)
        commands = [*rights_commands(name, {}, granted=self._granted(change), revoked=())]
        script = self._script(change)
        if script is not None:
            commands.append(put_script(name, script))
        return await self._run(change, [*commands, *self._subscriptions(change)])

    async def correct(self, change: Change) -> tuple[Shortfall, ...]:
        """Set the access of an existing mailbox where it differs.

        Repeats until nothing differs. Raises TryAgain.
        """
        name, script = self._name(change), self._script(change)
        if Step.SET_PERMISSIONS not in change.steps and script is None:
            return ()
        granted, revoked = self._granted(change), self._revoked(change)
        left = [*self._lists(change), *self._subscriptions(change)]
        shortfalls: tuple[Shortfall, ...] = ()
        for _ in range(_MOST_ROUNDS):
            state = await self._mailstore.observe(name, has_reply=script is not None)
            if state is None:
                raise TryAgain(RETRY_BUSY, Reason.build("mailboxNotVisible"), Cause.NOT_YET)
            commands = [*rights_commands(name, state.folders, granted=granted, revoked=revoked)]
            if script is not None and state.script != script:
                commands.append(put_script(name, script))
            if not commands and not left:
                return shortfalls
            shortfalls += await self._run(change, [*commands, *left])
            left = []
        raise TryAgain(RETRY_BUSY, Reason.build("directoryBusy"), Cause.BUSY)

    async def _run(self, change: Change, commands: Sequence[Command]) -> tuple[Shortfall, ...]:
        """Run commands, and report users without a mailbox of their own."""
        answers = await self._mailstore.call(commands)
        absent = [one.user for one, answer in zip(commands, answers, strict=True) if _is_absent(one, answer.exit_code)]
        if not absent:
            return ()
        problem = f"{', '.join(absent)} cannot see {change.wanted.mail} automatically, without a mailbox in Dovecot."
        return (Shortfall(Step.SET_PERMISSIONS, Reason.build("partNotSet", problem=problem)),)

    def _lists(self, change: Change) -> list[Command]:
        """Return the command that lists the mailbox for its users.

        It is not necessary if the entry records all of them. A crash of Dovecot may have left the rights alone.
        """
        recorded = {user.name for user in change.users.with_dns(change.present(self._names.full_access))}
        return [] if recorded.issuperset(self._granted(change)) else [list_again(self._name(change))]

    def _subscriptions(self, change: Change) -> list[Command]:
        """Return the subscriptions that are missing, and those to end.

        Users may unsubscribe. So only those are missing that the entry does not record yet. A crash can leave one that
        is not recorded, so those of revoked users always end.
        """
        if Step.SET_PERMISSIONS not in change.steps:
            return []
        folder = self._mailstore.shared_name(self._name(change))
        mapped = {user.name for user in change.users.with_dns(change.present(self._names.auto_mapped))}
        granted = self._granted(change)
        wanted = granted if change.wanted.auto_mapping else []
        revoked = {change.users.by_id[each].name for each in change.wanted.revoked if each in change.users.by_id}
        ended = [each for each in (*granted, *self._revoked(change)) if each in mapped | revoked and each not in wanted]
        added = [subscribe(user, folder) for user in wanted if user not in mapped]
        return [*added, *[unsubscribe(user, folder) for user in ended]]

    def _granted(self, change: Change) -> Sequence[str]:
        users = full_access_users(change.wanted) if Step.SET_PERMISSIONS in change.steps else []
        return [change.users.by_id[each].name for each in users]

    def _revoked(self, change: Change) -> Sequence[str]:
        """Return the users without full access.

        Those who do not exist any more cannot sign in.
        """
        if Step.SET_PERMISSIONS not in change.steps:
            return []
        permissions = change.wanted.permissions.items()
        others = [user for user, level in permissions if level is not PermissionLevel.FULL_ACCESS]
        known = change.users.by_id
        return [known[each].name for each in (*others, *change.wanted.revoked) if each in known]

    def _script(self, change: Change) -> str | None:
        """Return the wanted script of the reply.

        It has the addresses of the mailbox. None if no step changes it.
        """
        text = None
        if Step.SET_AUTOMATIC_REPLY in change.steps and sends_replies(change.wanted):
            text = change.wanted.automatic_reply
        elif Step.SET_ALIASES in change.steps and has_reply(change.entry, self._names):
            text = read_text(change.entry.one(self._names.automatic_reply) or "")
        if text is None:
            return None
        aliases = missing_aliases(change) if Step.SET_ALIASES in change.steps else []
        return render_reply(text, [*addresses_of(change.entry, self._names), *aliases])

    def _name(self, change: Change) -> str:
        return change.entry.one(self._names.name) or mailbox_name(change.wanted.mail)


def _is_absent(command: Command, exit_code: int) -> bool:
    return command.name == "mailboxSubscribe" and exit_code == NO_USER
