# SPDX-License-Identifier: Apache-2.0
"""Reasons of waits and warnings: stable codes with values, and their sentences.

Rows keep code and values. The sentence is rendered from them here, and older rows that have only a sentence keep it.
A code is never removed and never changes its values: rows have it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from chamberlain.core.sentences import NO_VALUES, Values, Word, phrase
from chamberlain.core.text import one_line

# The words of a directory that has no code for its reason.
UNCODED = "directoryNotReady"

SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        # Waits.
        UNCODED: "{problem}",
        "directoryNotAvailable": "The directory is not available at present.",
        "directoryBusy": "The directory has asked to slow down.",
        "budgetUsed": "Calls to the directory are limited, and others are served first.",
        "groupNotVisible": "The directory does not show the new group yet.",
        "groupNotFoundById": "The directory shows the new group, but does not find it under its id yet.",
        "groupMadeNotShown": "The directory says that the group is made, and does not show it.",
        "mailboxNotVisible": "The directory does not show the new mailbox yet.",
        "mailboxNotFoundById": "The directory shows the new mailbox, but does not find it under its id yet.",
        "mailboxMadeNotShown": "The directory says that the mailbox is made, and does not show it.",
        "groupNotShown": "The directory does not show this group at present.",
        "heldForAdministrator": "An administrator has to look at this and release it; until then it can be cancelled.",
        "assignmentCancelled": "The request was cancelled. Send the same assignment again to bring this about.",
        # Broken connections to a directory.
        "connectionBroken": "The connection to the directory is broken: {problem}",
        "passwordRefused": (
            "The database of the directory refuses the role or its password. Change the credential of the connection, "
            "and check it."
        ),
        "databaseUnknown": (
            "The server of the directory has no such database. Change the address of the connection, and check it."
        ),
        "tlsRefused": (
            "The server of the directory offers no TLS, or a certificate that the service cannot verify. Ask the "
            "operator to name the file of its certificate authority in PGSSLROOTCERT, or change sslmode in the "
            "address, and check the connection."
        ),
        "schemaMissing": (
            "The database has no directory of this version. Run `chamberlain migrate` there, and check the connection."
        ),
        "privilegeMissing": (
            "The role may not read and write the directory. Grant it chamberlain_worker there, and check the "
            "connection."
        ),
        "credentialUnreadable": (
            "The credential of the connection cannot be read. Provide the file or the key, or change the credential, "
            "and check the connection."
        ),
        "hostNotPermitted": (
            "The operator does not permit connections to the host of this directory. Ask the operator to add it to "
            "CHAMBERLAIN_CONNECTION_HOSTS, and check the connection."
        ),
        "suiteExtraMissing": (
            "The service was installed without the extra opensuite. Ask the operator to install "
            "chamberlain[opensuite], and check the connection."
        ),
        "suiteSettingsUnusable": (
            "The settings of the open suite cannot be used: {problem} Correct the file, and check the connection."
        ),
        "serverRefusesCredential": (
            "{server} refuses the account of the connection or its secret. Change it in the folder of the tenant, and "
            "check the connection."
        ),
        "serverRefusesAccess": (
            "{server} does not permit the account of the connection to do this: {problem} Grant it, and check the "
            "connection."
        ),
        "serverSettingsMissing": (
            "Servers of the open suite lack settings: {problems} Add them, and check the connection."
        ),
        # Shortfalls of completed steps.
        "labelNeedsDelegate": (
            "The directory sets labels only for a user. Name a user for that in the connection, or set the label there."
        ),
        "guestDomainsNotEnforced": (
            "The directory does not enforce the domains that guests may come from. Findings report guests of other "
            "domains."
        ),
        "addressDomainNotSet": (
            "The directory did not set the domain {domain}. The address is {address}. An administrator can change it "
            "there."
        ),
        "quotaNotSet": (
            "The directory did not set a quota of {megabytes} MB. Check the license of the mailbox, and set the quota "
            "there."
        ),
        "partNotSet": "{problem}",
        # Warnings of requests.
        "propertyHasNoEffect": "A mailbox of type {type} has no {property}. It is kept and has no effect.",
        "teamLicenseNotChecked": (
            "The directory of this tenant does not report licenses, so your license for teams was not checked."
        ),
        "membershipRuleNotChecked": (
            "The directory of this tenant cannot check membership rules. Create one group of this template and look at "
            "its members."
        ),
        "objectLeftBehind": (
            'The {type} "{displayName}" ({address}) is in the directory already and stays there, under the id {id}. '
            "Its address is free after an administrator has removed it there."
        ),
        "guestTemplateInactive": (
            "The guest template of this request's template is inactive. The group has none. Assign one to it."
        ),
        "guestTemplateUnknown": (
            "The guest template of this request's template no longer exists. The group has none. Assign one to it."
        ),
        "guestPolicyInactive": (
            "The guest policy of this request's template is inactive. The group has none. Assign one to it."
        ),
        "guestPolicyUnknown": (
            "The guest policy of this request's template no longer exists. The group has none. Assign one to it."
        ),
        "guestRulesUnusable": (
            "The guest template and the guest policy of this request's template are inactive or no longer exist. The "
            "group has none. Assign them to it."
        ),
        # Warnings of assignments.
        "membersFollowRule": (
            "{guest} is in this group by its membership rule and cannot be removed by hand. Change the rule in the "
            "directory."
        ),
        "lastOwner": (
            "{guest} is the last owner of this group and was not removed. Name another owner in the directory, and "
            "remove this guest there."
        ),
        "guestNotRemoved": "{problem}",
        "guestsNotRemoved": (
            "{count} guests were not removed: {guests}. The membership rule includes them, or the group would lose its "
            "last owner. Change the rule or name another owner in the directory."
        ),
        # Warnings of dry runs.
        "addressNumberDrawn": "The number in the address is drawn when the request is sent. Zeros replace it here.",
        "nameNumberDrawn": "The number in the name is drawn when the request is sent. Zeros replace it here.",
        "addressDigitsFollow": (
            "{address} is taken, so the first eight digits of the requestId follow. Zeros replace them here."
        ),
        "addressFromRequest": (
            "The name has no letters for an address. Digits of the requestId replace it; here these are zeros."
        ),
        "peopleNotChecked": (
            "The directory does not answer at present. People were not checked; the request checks them first."
        ),
        "noApprover": (
            "No approver was found for level {level}. The request would wait there until an approver is named."
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Cause:
    """Code and values of a reason, as a row has them.

    The code may be one of a newer version. A warning has its sentence as well, to match those of older versions.
    """

    code: str
    values: Values = field(default_factory=dict, hash=False)
    sentence: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason as it is shown.

    A row of an older version has no code.
    """

    sentence: str
    code: str | None = None
    values: Values | None = field(default=None, hash=False)

    @classmethod
    def build(cls, code: str, /, **values: Word) -> "Reason":
        """Return a reason of this version."""
        return cls(one_line(phrase(SENTENCES[code], values)), code, values)

    @property
    def cause(self) -> Cause | None:
        """Return code and values for a row."""
        return None if self.code is None else Cause(self.code, self.values or NO_VALUES)

    @property
    def kept(self) -> Cause | None:
        """Return code and values of a warning for a row."""
        return None if self.code is None else Cause(self.code, self.values or NO_VALUES, self.sentence)


def shown_reason(sentence: str | None, cause: Cause | None) -> Reason | None:
    """Render a reason from code and values.

    The sentence of the row is shown for a code of a newer version, and without a code.
    """
    if cause is None:
        return None if sentence is None else Reason(sentence)
    return Reason(_render(cause) or sentence or cause.code, cause.code, cause.values)


def shown_warnings(sentences: Sequence[str], causes: Sequence[Cause]) -> tuple[Reason, ...]:
    """Join the warnings of a row with their codes and values.

    They are in the order of the sentences. An older version adds sentences alone. Later rows have causes alone.
    """
    left = list(causes)
    found = []
    for sentence in sentences:
        cause = next((each for each in left if each.sentence == sentence), None)
        if cause is not None:
            left.remove(cause)
        found.append(shown_reason(sentence, cause))
    found += [shown_reason(each.sentence, each) for each in left]
    return tuple([each for each in found if each is not None])


def kept_causes(warnings: Sequence[Reason]) -> tuple[Cause, ...]:
    """Return the codes and values of warnings for a row."""
    return tuple([cause for each in warnings if (cause := each.kept) is not None])


def _render(cause: Cause) -> str | None:
    template = SENTENCES.get(cause.code)
    try:
        return None if template is None else one_line(phrase(template, cause.values))
    except (KeyError, ValueError):
        # Values of a newer version.
        return None
