# SPDX-License-Identifier: Apache-2.0
"""Texts of refused calls, by code: heading and next step."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from chamberlain.console.faults import fault_text
from chamberlain.console.formats import phrase
from chamberlain.console.labels import STATES
from chamberlain.console.words import N_, NN_, Message
from chamberlain.core.errors import BodyInvalid, Conflict, LimitReached, NotPossible, Refusal
from chamberlain.core.sentences import Word
from chamberlain.requests.models import RequestState


class Explained(NamedTuple):
    """The text of an error page: heading and next step."""

    heading: str
    text: Message


_NO_ACCESS: Final = N_("You have no access to this page")
_NOT_FOUND: Final = Explained(
    N_("This page does not exist"),
    N_("Check the address. The page may have been removed, or you have no access to it."),
)
_NOT_SAVED: Final = N_("That did not work")
_AGAIN: Final = N_("Nothing was changed. Go back and try again.")
_UNAVAILABLE: Final = N_("The service is not available")
_IN_A_MINUTE: Final = N_("Nothing was changed. Try again in a minute.")
_WRONG_ADDRESS: Final = Explained(
    _NOT_SAVED, N_("The address of this page is incomplete or wrong. Go back and try again.")
)
_SIGN_IN: Final = Explained(N_("You are not signed in"), N_("Sign in again, then repeat your last action."))
_CHANGED: Final = N_("This has changed in the meantime")
_TAKEN: Final = N_("This is already in use")
_TOO_MUCH: Final = N_("Too many requests")

REFUSALS: Final[Mapping[str, Explained]] = {
    # 400
    "notJson": Explained(_NOT_SAVED, _AGAIN),
    "notYaml": Explained(_NOT_SAVED, _AGAIN),
    "notAnObject": Explained(_NOT_SAVED, _AGAIN),
    "unknownParameter": _WRONG_ADDRESS,
    "invalidParameter": _WRONG_ADDRESS,
    "invalidCursor": Explained(N_("This list has changed"), N_("Open the list again from its start.")),
    "malformedId": _NOT_FOUND,
    "ambiguousHead": Explained(_NOT_SAVED, _AGAIN),
    "invalidBody": Explained(
        N_("Something is missing or wrong"), N_("Nothing was sent. Go back and correct the form.")
    ),
    # 401
    "tokenMissing": _SIGN_IN,
    "tokenInvalid": _SIGN_IN,
    "tokenExpired": _SIGN_IN,
    "audienceUnknown": _SIGN_IN,
    # 403
    "insufficientScope": Explained(_NO_ACCESS, N_("Ask an administrator of your organisation for access.")),
    "applicationNotSupported": Explained(_NO_ACCESS, N_("Only people can do this. Sign in as a person.")),
    "notAdministrator": Explained(_NO_ACCESS, N_("Only administrators of your organisation can do this.")),
    "notApprover": Explained(N_("You cannot decide on this request"), N_("You are not one of its approvers.")),
    "selfApproval": Explained(
        N_("You cannot decide on this request"),
        N_("It is your own request, or that of the person you substitute for. Another approver has to decide."),
    ),
    "teamLicenseRequired": Explained(
        N_("You need a license for teams"), N_("Ask an administrator for a license, or request a group instead.")
    ),
    "templateNotAllowed": Explained(
        N_("This template is not available to you"), N_("Choose another one in the catalog.")
    ),
    # 404, 405
    "notFound": _NOT_FOUND,
    "methodNotAllowed": _NOT_FOUND,
    # 409
    "nameTaken": Explained(_TAKEN, N_("Nothing was sent. Go back and choose another name.")),
    "addressTaken": Explained(_TAKEN, N_("Nothing was sent. Go back and choose another name.")),
    "stateDoesNotAllow": Explained(
        _CHANGED,
        N_("Another approver may have decided, or the deadline has passed. Open the request to see its state."),
    ),
    "inUse": Explained(N_("This is still in use"), N_("Nothing was changed. Remove it from where it is in use first.")),
    "previewChanged": Explained(_CHANGED, N_("Nothing was changed. Open the preview again, and check it.")),
    "idempotencyKeyInProgress": Explained(
        N_("This request is being sent already"), N_("Open your requests in a moment. It was sent only once.")
    ),
    # 412
    "etagStale": Explained(_CHANGED, N_("Nothing was saved. Open the page again, and repeat your change.")),
    # 413 to 421
    "bodyTooLarge": Explained(
        N_("This form is too large"), N_("Nothing was sent. Shorten the texts, or choose fewer people.")
    ),
    "notJsonContent": Explained(_NOT_SAVED, _AGAIN),
    "hostUnknown": Explained(N_("This page does not exist"), N_("Check the address. The service has another one.")),
    # 422
    "notPossible": Explained(
        N_("Something is missing or wrong"), N_("Nothing was sent. Go back and correct the form.")
    ),
    "idempotencyKeyReused": Explained(
        N_("This form was sent already"),
        N_("Open your requests to see it. To request something else, open a new form."),
    ),
    # 429, 431
    "quotaExceeded": Explained(_TOO_MUCH, N_("Your organisation has reached its limit of requests. Try again later.")),
    "rateExceeded": Explained(
        _TOO_MUCH,
        NN_(
            "You can search %(max)s time in a minute. Try again in a minute.",
            "You can search %(max)s times in a minute. Try again in a minute.",
            "max",
        ),
    ),
    "headTooLarge": Explained(
        _NOT_SAVED,
        N_(
            "The address or the cookies of this page are too long. Delete the cookies of this page in your browser, "
            "and try again."
        ),
    ),
    # 500, 503
    "internalError": Explained(_NOT_SAVED, _AGAIN),
    "databaseUnavailable": Explained(_UNAVAILABLE, _IN_A_MINUTE),
    "issuerUnavailable": Explained(_UNAVAILABLE, _IN_A_MINUTE),
    "overloaded": Explained(_UNAVAILABLE, _IN_A_MINUTE),
}
_OTHER: Final = Explained(_NOT_SAVED, _AGAIN)


def refusal_heading(language: str, refusal: Refusal) -> str:
    """Write the heading of a refused call."""
    return phrase(language, REFUSALS.get(refusal.code, _OTHER).heading)


def refusal_text(language: str, refusal: Refusal) -> str:
    """Write the faults of a refused call, or the next step."""
    match refusal:
        case BodyInvalid(faults=faults) | NotPossible(faults=faults) | Conflict(faults=faults) if faults:
            return " ".join(dict.fromkeys(fault_text(language, each) for each in faults[:_MOST_FAULTS]))
        case _:
            return phrase(language, _message(refusal), **_values(language, refusal))


# A page shows so many; the form has them all.
_MOST_FAULTS: Final = 3


def _message(refusal: Refusal) -> Message:
    if refusal.code == "stateDoesNotAllow" and refusal.values.get("state") in STATES:
        return N_("This is no longer possible. The state of the request is now “%(state)s”.")
    if isinstance(refusal, LimitReached) and refusal.limit == "openStreams":
        return N_("You have too many pages of this service open. Close some of them.")
    return REFUSALS.get(refusal.code, _OTHER).text


def _values(language: str, refusal: Refusal) -> Mapping[str, Word]:
    state = refusal.values.get("state")
    if isinstance(state, str) and state in STATES:
        return {"state": phrase(language, STATES[RequestState(state)])}
    return refusal.values
