# SPDX-License-Identifier: Apache-2.0
"""Texts of reasons, by code: waits, warnings and errors of requests.

Requesters and approvers read them. Details that only an administrator can use are in the API and the command line.
"""

from collections.abc import Mapping
from typing import Final

from chamberlain.console.faults import fault_text
from chamberlain.console.formats import phrase
from chamberlain.console.labels import KINDS
from chamberlain.console.words import N_, NN_, Message
from chamberlain.core.reasons import Reason
from chamberlain.core.sentences import Word
from chamberlain.requests.models import RequestError

_BROKEN: Final = N_("The connection to the directory does not work. An administrator has to repair it.")
_GUEST_RULES: Final = N_(
    "The group has no guest rules, because those of the template are no longer in use. An administrator can assign "
    "others."
)

REASONS: Final[Mapping[str, Message]] = {
    # Waits.
    "directoryNotReady": N_("The directory is not ready yet: %(problem)s"),
    "directoryNotAvailable": N_("The directory is not available at the moment."),
    "directoryBusy": N_("The directory is busy at the moment."),
    "budgetUsed": N_("Other requests are processed first."),
    "groupNotVisible": N_("The directory does not show the new group yet."),
    "groupNotFoundById": N_("The directory does not show the new group everywhere yet."),
    "groupMadeNotShown": N_("The group was created, but the directory does not show it yet."),
    "mailboxNotVisible": N_("The directory does not show the new mailbox yet."),
    "mailboxNotFoundById": N_("The directory does not show the new mailbox everywhere yet."),
    "mailboxMadeNotShown": N_("The mailbox was created, but the directory does not show it yet."),
    "groupNotShown": N_("The directory does not show this group at the moment."),
    "heldForAdministrator": N_("An administrator has to check and release this request. You can cancel it until then."),
    "assignmentCancelled": N_("The request was cancelled before this was done."),
    # Broken connections to a directory.
    "connectionBroken": _BROKEN,
    "passwordRefused": _BROKEN,
    "databaseUnknown": _BROKEN,
    "tlsRefused": _BROKEN,
    "schemaMissing": _BROKEN,
    "privilegeMissing": _BROKEN,
    "credentialUnreadable": _BROKEN,
    "hostNotPermitted": _BROKEN,
    "suiteExtraMissing": _BROKEN,
    "suiteSettingsUnusable": _BROKEN,
    "serverRefusesCredential": _BROKEN,
    "serverRefusesAccess": _BROKEN,
    "serverSettingsMissing": _BROKEN,
    # Parts left undone.
    "labelNeedsDelegate": N_("The directory could not set the sensitivity label. An administrator can set it there."),
    "guestDomainsNotEnforced": N_(
        "The directory does not restrict the domains of guests. Guests of other domains are reported to administrators."
    ),
    "addressDomainNotSet": N_(
        "The address is %(address)s, because the directory did not accept the domain %(domain)s. An administrator can "
        "change it there."
    ),
    "quotaNotSet": N_(
        "The directory did not set the storage limit of %(megabytes)s MB. An administrator can check the license of "
        "the mailbox."
    ),
    "partNotSet": N_("The directory did not do a part of this: %(problem)s"),
    # Warnings of requests.
    "propertyHasNoEffect": N_("One of the values has no effect on this type of mailbox. It is stored but not used."),
    "teamLicenseNotChecked": N_("Your license for teams could not be checked."),
    "membershipRuleNotChecked": N_("The rule for members could not be checked. Check the members of the new group."),
    "objectLeftBehind": N_(
        "%(displayName)s (%(address)s) is already in the directory and stays there. The address is free again after an "
        "administrator has removed it."
    ),
    "guestTemplateInactive": _GUEST_RULES,
    "guestTemplateUnknown": _GUEST_RULES,
    "guestPolicyInactive": _GUEST_RULES,
    "guestPolicyUnknown": _GUEST_RULES,
    "guestRulesUnusable": _GUEST_RULES,
    # Warnings of assignments.
    "membersFollowRule": N_(
        "%(guest)s is a member by rule, and was not removed. An administrator can change the rule."
    ),
    "lastOwner": N_("%(guest)s is the last owner, and was not removed. Add another owner, then remove this guest."),
    "guestNotRemoved": N_("A guest was not removed: %(problem)s"),
    "guestsNotRemoved": NN_(
        "%(count)s guest was not removed: %(guests)s. A rule includes this guest, or there is no other owner.",
        "%(count)s guests were not removed: %(guests)s. A rule includes them, or there is no other owner.",
        "count",
    ),
    # Warnings of dry runs.
    "addressNumberDrawn": N_("The address gets its number when you send the request. Zeros are shown here instead."),
    "nameNumberDrawn": N_("The name gets its number when you send the request. Zeros are shown here instead."),
    "addressDigitsFollow": N_(
        "%(address)s is already in use, so the address gets digits at its end. Zeros are shown here instead."
    ),
    "addressFromRequest": N_(
        "The name has no letters for an address, so the address consists of digits. Zeros are shown here instead."
    ),
    "peopleNotChecked": N_(
        "The directory does not answer at the moment. People are checked after you send the request."
    ),
    "noApprover": N_(
        "There is no approver for level %(level)s at the moment. The request waits until an administrator names one."
    ),
}

ERRORS: Final[Mapping[str, Message]] = {
    "directoryNotReady": N_("The directory was not ready in time. Retry the request later."),
    "userUnknown": N_("A person in this request is no longer in the directory."),
    "labelUnknown": N_("The sensitivity label no longer exists."),
    "labelsNotSupported": N_("The directory of your organisation has no sensitivity labels."),
    "mailboxesNotSupported": N_("Mailboxes cannot be created in the directory of your organisation."),
    "teamsNotSupported": N_("The directory of your organisation has no teams. Choose a template for groups."),
    "sitesNotSupported": N_("The directory of your organisation has no sites. Choose the group of the site."),
    "addressTaken": N_("Another object in the directory has this address now. Send a new request with another name."),
    "ruleInvalid": N_(
        "The directory does not accept the rule for members. Ask an administrator to correct the template."
    ),
    "groupUnknown": N_("The group is no longer in the directory."),
    "notAccepted": N_("The directory cannot store one of the texts. Send a new request with other texts."),
    "refusedByDirectory": N_("The directory has refused a change. Ask an administrator to check it."),
    "notPossible": N_("The request cannot be fulfilled as it is."),
    "teamLicenseRequired": N_("A team needs a license that you do not have. Ask an administrator for it."),
    "templateNotAllowed": N_("You may not use this template."),
    # Of repairs of differences.
    "notManaged": N_("The object is no longer managed."),
    "alreadyManaged": N_("Another request or installation manages the object. Ask an administrator to check it."),
    "notRepairable": N_("The directory cannot change this value."),
    "repairReplaced": N_("A later request makes this change instead."),
}


def reason_text(language: str, reason: Reason) -> str:
    """Write a reason.

    A row of an older version has only a sentence.
    """
    message = REASONS.get(reason.code or "")
    if message is None:
        return reason.sentence
    return phrase(language, message, **_values(language, reason))


def error_text(language: str, error: RequestError) -> str:
    """Write the error of a failed request, with its faults."""
    message = ERRORS.get(error.code)
    if message is None:
        return phrase(language, N_("The directory refused this: %(problem)s"), problem=error.detail)
    faults = dict.fromkeys(fault_text(language, each) for each in error.faults)
    return " ".join([phrase(language, message), *faults])


def _values(language: str, reason: Reason) -> Mapping[str, Word]:
    values = reason.values or {}
    kind = values.get("type")
    return {**values, "type": phrase(language, KINDS[kind])} if isinstance(kind, str) and kind in KINDS else values
