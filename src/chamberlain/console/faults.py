# SPDX-License-Identifier: Apache-2.0
"""Texts of faults, by code, for people in front of a form.

The text is beside its field, so it does not name the field. It says the fix, not the JSON.
"""

from collections.abc import Callable, Mapping
from typing import Final

from chamberlain.console.formats import phrase
from chamberlain.console.labels import KINDS
from chamberlain.console.words import N_, NN_, Message
from chamberlain.core.errors import Fault
from chamberlain.core.sentences import Word

_Choose = Callable[[Fault], Message]

# For a code of a newer version.
UNKNOWN: Final = N_("This value is not accepted. Check it.")

# The largest integer of a column.
_LARGEST_INTEGER: Final = 2**31 - 1

_CHOOSE_OPTION: Final = N_("Choose one of the options.")
_TEMPLATE_BROKEN: Final = N_("This template does not work at the moment. Ask an administrator to correct it.")
_FILL_IN: Final = N_("Fill in this field.")
_LEAVE_EMPTY: Final = N_("This field does not apply here. Leave it empty.")
_CHOOSE_TEMPLATE: Final = N_("This template is not available. Choose another one in the catalog.")
_WRONG_ADDRESS: Final = N_("The address of this page is incomplete or wrong. Go back and try again.")
_NOT_IN_DIRECTORY: Final = N_("This person is no longer in the directory. Choose another person.")


def fault_text(language: str, fault: Fault) -> str:
    """Write a fault for the field of a form that has it."""
    found = TEXTS.get(fault.code, UNKNOWN)
    message = found if not callable(found) else found(fault)
    return phrase(language, message, **_values(language, fault))


def _values(language: str, fault: Fault) -> Mapping[str, Word]:
    """Return the values of a sentence, kinds with their labels."""
    values = {**fault.hints, **fault.values}
    kinds = {
        name: phrase(language, KINDS[word])
        for name, word in values.items()
        if name in {"kind", "wanted", "type"} and isinstance(word, str) and word in KINDS
    }
    return {**values, **kinds}


def _missing(fault: Fault) -> Message:
    return _CHOOSE_OPTION if "choices" in fault.values else _FILL_IN


def _wrong_type(fault: Fault) -> Message:
    match fault.values.get("expected"):
        case "a whole number" | "a number":
            return _number(fault)
        case "true or false":
            return N_("Choose Yes or No.")
        case "a string":
            return N_("Enter text.")
        case _:
            return _CHOOSE_OPTION


def _number(fault: Fault) -> Message:
    most = fault.hints.get("max")
    # A bound of the database says nothing to people, unless the number is beyond it.
    has_most = isinstance(most, int) and (most < _LARGEST_INTEGER or "max" in fault.values)
    match "min" in fault.hints, has_most:
        case True, True:
            return N_("Enter a whole number from %(min)s to %(max)s.")
        case True, False:
            return N_("Enter a whole number of at least %(min)s.")
        case False, True:
            return N_("Enter a whole number of at most %(max)s.")
        case _:
            return N_("Enter a whole number.")


def _out_of_bounds(fault: Fault) -> Message:
    match fault.values:
        case {"count": _}:
            return N_("%(count)s assignments would change. At most %(max)s can change at once. Choose fewer.")
        case {"max": _, "unit": "KiB"}:
            return N_("This text is too long. Shorten it.")
        case {"max": _, "unit": "character" | "characters"}:
            return NN_(
                "Enter at most %(max)s character. You have entered %(actual)s.",
                "Enter at most %(max)s characters. You have entered %(actual)s.",
                "max",
            )
        case {"min": _, "unit": "character" | "characters"}:
            return NN_("Enter at least %(min)s character.", "Enter at least %(min)s characters.", "min")
        case {"max": _, "unit": _}:
            return NN_(
                "At most %(max)s entry is allowed. There are %(actual)s.",
                "At most %(max)s entries are allowed. There are %(actual)s.",
                "max",
            )
        case {"min": _, "unit": _}:
            return NN_("Add at least %(min)s entry.", "Add at least %(min)s entries.", "min")
        case {"min": _} | {"max": _}:
            return _number(fault)
        case _:
            return N_("Choose a later time.")


def _text(fault: Fault) -> Message:
    match fault.hints.get("rule"):
        case "mailboxName":
            return N_("Enter the name without @, such as info. The address follows from it.")
        case "localPart":
            return N_("Enter the part before the @ only, such as info, without spaces and umlauts.")
        case "domain":
            return N_("Enter a domain such as example.org.")
        case _:
            return N_("This text is empty or contains characters that are not allowed. Enter it again.")


def _custom_field(fault: Fault) -> Message:
    match fault.values:
        case {"user": _}:
            return _NOT_IN_DIRECTORY
        case {"choices": _}:
            return _CHOOSE_OPTION
        case {"max": _}:
            return NN_("Enter at most %(max)s character.", "Enter at most %(max)s characters.", "max")
        case _:
            return N_("This value does not fit this field. Enter or choose it again.")


def _user(fault: Fault) -> Message:
    match fault.pointer:
        case "":
            return N_("You are not in the directory of your organisation, so you cannot request this.")
        case "/templateId":
            return N_(
                "The template names a person who is no longer in the directory. Ask an administrator to correct it."
            )
        case _:
            return _NOT_IN_DIRECTORY


def _domain(fault: Fault) -> Message:
    if fault.pointer == "/templateId":
        return N_("The domain %(domain)s of the template does not belong to your organisation. Choose another domain.")
    if "choices" not in fault.values:
        return N_("The domain %(domain)s does not belong to your organisation. Choose another one.")
    if "more" in fault.values:
        return N_("The domain %(domain)s does not belong to your organisation. Some of its domains are %(choices)s.")
    return N_("The domain %(domain)s does not belong to your organisation. Choose %(choices)s.")


def _rule(fault: Fault) -> Message:
    if "first" in fault.values:
        return N_("This entry is in the list twice. Remove one of them.")
    if fault.pointer == "/userId":
        return N_("Neither you nor a guest can be your substitute. Choose another person.")
    if "position" in fault.values:
        return N_("This naming rule has an error at character %(position)s. Correct it.")
    if {"days", "times"} <= fault.values.keys():
        return N_("Day %(days)s is in the list %(times)s times. Enter each day once.")
    if "days" in fault.values:
        return N_("The reminder %(days)s days before is too early. Enter at most %(max)s days.")
    if "max" in fault.values:
        return N_("Enter at most %(max)s days, so that a review ends before the next one begins.")
    if "key" in fault.values:
        return N_("The key %(key)s is not allowed here, or is used twice. Choose another key.")
    return N_("This rule does not work. Correct it.")


def _name_not_possible(fault: Fault) -> Message:
    if "characters" in fault.values:
        return N_("These characters are not allowed in the name: %(characters)s. Choose another name.")
    return NN_(
        "This name is too long: at most %(max)s character is allowed. Choose a shorter name.",
        "This name is too long: at most %(max)s characters are allowed. Choose a shorter name.",
        "max",
    )


def _name_too_long(fault: Fault) -> Message:
    if fault.pointer == "/name":
        return N_(
            "The address would have %(actual)s characters, and at most %(max)s are allowed. Choose a shorter name."
        )
    return N_(
        "With the parts that the template adds, the name has %(actual)s characters. At most %(max)s are allowed. "
        "Shorten it."
    )


def _label(fault: Fault) -> Message:
    return (
        _TEMPLATE_BROKEN
        if fault.pointer == "/templateId"
        else N_("This sensitivity label no longer exists. Choose another one.")
    )


def _member_ship(fault: Fault) -> Message:
    return (
        _TEMPLATE_BROKEN
        if fault.pointer == "/templateId"
        else N_("This template has no rule for members. Choose another option.")
    )


def _not_held(fault: Fault) -> Message:
    if "template" in fault.values:
        return _TEMPLATE_BROKEN
    return N_("The directory of your organisation cannot store this. Leave it empty.")


def _kind(fault: Fault) -> Message:
    if "wanted" in fault.values:
        return N_("The kind of a template cannot change. Create a new template.")
    return _CHOOSE_TEMPLATE


TEXTS: Final[Mapping[str, Message | _Choose]] = {
    # Of form.
    "missingProperty": _missing,
    "unknownProperty": _LEAVE_EMPTY,
    "wrongType": _wrong_type,
    "outOfBounds": _out_of_bounds,
    "unknownValue": _CHOOSE_OPTION,
    "malformedId": N_("Choose an entry from the list."),
    "invalidText": _text,
    "sameUserTwice": N_("This person is in the list twice. Remove one of the entries."),
    "invalidBody": N_("There are more errors below. Correct the others first."),
    "invalidParameter": _WRONG_ADDRESS,
    "unknownParameter": _WRONG_ADDRESS,
    "nullNotAllowed": _CHOOSE_OPTION,
    "credentialInFile": N_("Remove the credential. A configuration must not contain it."),
    "notTogether": N_("Enter either the credential or the name of its file."),
    # Of people and objects.
    "userUnknown": _user,
    "groupUnknown": N_("This group is no longer in the directory. Choose another group."),
    "templateUnknown": _CHOOSE_TEMPLATE,
    "templateInactive": _CHOOSE_TEMPLATE,
    "templateOfOtherKind": _kind,
    "noDefaultTemplate": N_("There is no template for this yet. Ask an administrator to create one."),
    "typeNotRecognised": N_("Choose a template in the catalog first."),
    "typeAmbiguous": N_("Choose a template in the catalog first."),
    "policyUnknown": N_("This guest policy no longer exists. Choose another one."),
    "policyInactive": N_("This guest policy is not in use at the moment. Choose another one."),
    "labelUnknown": _label,
    "nameAmbiguous": N_("Several objects have the name %(name)s. Choose one of them by its ID."),
    # Of requests.
    "tooFewOwners": NN_(
        "At least %(min)s owner is needed, including you. Add owners.",
        "At least %(min)s owners are needed, including you. Add owners.",
        "min",
    ),
    "membersOfDynamicGroup": N_("The members follow a rule. Do not choose any."),
    "memberShipTypeFixed": N_("The template sets this. Leave it as it is."),
    "dynamicRuleMissing": _member_ship,
    "customFieldRequired": _FILL_IN,
    "customFieldInvalid": _custom_field,
    "nameTooLong": _name_too_long,
    "nameNotPossible": _name_not_possible,
    "nameTaken": N_("There is already a mailbox with the name %(name)s. Choose another name."),
    "addressTaken": N_("The address %(address)s is already in use. Choose another name."),
    "domainNotVerified": _domain,
    "propertyNotApplicable": _LEAVE_EMPTY,
    "propertyNotHeld": _not_held,
    "labelsNotSupported": _not_held,
    "mailboxesNotSupported": N_("Mailboxes cannot be created in the directory of your organisation."),
    "teamsNotSupported": N_("The directory of your organisation has no teams. Choose a template for groups."),
    "sitesNotSupported": N_("The directory of your organisation has no sites. Choose the group of the site."),
    "guestDomainsNotSupported": _not_held,
    "quotaExceeded": N_("Your organisation has reached its limit of requests. Try again later."),
    "ruleInvalid": _rule,
    "inUse": N_("This is still in use and cannot be removed or changed."),
    # Of replies by e-mail.
    "replyUnreadable": N_("The reply could not be read."),
    "replyAutomatic": N_("The reply was sent automatically, so it does not count."),
    "replyWithoutToken": N_("The reply has no reply code. Reply to the approval e-mail, and keep the quoted message."),
    "replyTokenInvalid": N_("The reply code is no longer valid. Use the link in the e-mail."),
    "replySenderDiffers": N_("The reply does not come from the address that was asked."),
    "replyUnclear": N_("Write “approve”, or “reject:” and a reason, in the first line of the reply."),
    # Of administration.
    "noAdministrator": N_("At least one administrator must be a person who is not a guest. Add one."),
    "nothingToAdopt": N_("Nothing matches this filter. Change the filter."),
    "tooManyToAdopt": N_("%(actual)s objects match this filter, and at most %(max)s are allowed. Narrow the filter."),
    "operatorSetting": N_("Only the operator of the service can change this. Leave it as it is."),
    "otherTenant": N_("This belongs to another organisation. Leave it out."),
    "addressInvalid": N_("Enter an address such as postgresql://role@host:5432/database, without a password."),
    "hostNotPermitted": N_("Connections to this host are not permitted. Ask the operator of the service."),
    "credentialMissing": N_("Enter a credential."),
    "credentialNotNeeded": N_("No credential is needed here. Leave it empty."),
}
