"""The words of notices, in every language that they are written in.

What stands in braces is put in once, so that braces in a name are nothing but braces.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from chamberlain.notifications.models import NoticeKind
from chamberlain.requests.models import RequestKind
from chamberlain.requests.models_approvals import ApprovalMode


class Language(StrEnum):
    """A language of notices, by its tag."""

    ENGLISH = "en"
    GERMAN = "de"


@dataclass(frozen=True, slots=True)
class Words:
    """Everything that a notice can say in one language; `thing` is what was asked for, as `things` call it."""

    things: Mapping[RequestKind, str]
    subjects: Mapping[NoticeKind, str]
    news: Mapping[NoticeKind, str]
    from_template: str
    modes: Mapping[ApprovalMode, str]
    level: str
    deadline: str
    decided_by: str
    cause: str
    what_next: Mapping[NoticeKind, str]
    open_request: str
    somebody: str
    footer: str


def language_of(tag: str | None) -> Language:
    """The language for somebody who prefers this one (RFC 5646, such as `de-CH`); English where it is none of ours."""
    primary = (tag or "").replace("_", "-").split("-")[0].strip().lower()
    return Language.GERMAN if primary == "de" else Language.ENGLISH


def words_of(language: Language) -> Words:
    """The words of a language."""
    match language:
        case Language.ENGLISH:
            return _ENGLISH
        case Language.GERMAN:
            return _GERMAN


_ENGLISH = Words(
    things={
        RequestKind.SHARED: 'shared mailbox "{name}"',
        RequestKind.EQUIPMENT: 'equipment mailbox "{name}"',
        RequestKind.ROOM: 'room mailbox "{name}"',
        RequestKind.GROUP: 'group "{name}"',
        RequestKind.TEAM: 'team "{name}"',
        RequestKind.ASSIGNMENT: 'guest rules of "{name}"',
    },
    subjects={
        NoticeKind.APPROVAL_REQUIRED: "Your approval is needed: {thing}",
        NoticeKind.APPROVED: "Approved: {thing}",
        NoticeKind.REJECTED: "Rejected: {thing}",
        NoticeKind.EXPIRED: "Expired: {thing}",
        NoticeKind.FAILED: "Failed: {thing}",
    },
    news={
        NoticeKind.APPROVAL_REQUIRED: "{requester} has asked for the {thing}. It is made when it is approved, and you "
        "are one of those who may approve or reject it.",
        NoticeKind.APPROVED: "Your request for the {thing} was approved. It is being carried out now.",
        NoticeKind.REJECTED: "Your request for the {thing} was rejected. Nothing was made.",
        NoticeKind.EXPIRED: "Your request for the {thing} has expired: nobody decided on it in time. Nothing was made.",
        NoticeKind.FAILED: "Your request for the {thing} could not be carried out.",
    },
    from_template='Its template is "{template}".',
    modes={
        ApprovalMode.ANY: "One approval is enough.",
        ApprovalMode.ALL: "Everybody who is asked has to approve it; one rejection rejects it.",
    },
    level="This is level {level} of {levels}.",
    deadline="Without a decision it expires on {deadline} UTC.",
    decided_by="{name} wrote:",
    cause="The reason:",
    what_next={
        NoticeKind.APPROVAL_REQUIRED: "Please approve or reject it.",
        NoticeKind.REJECTED: "Its name and address are free again.",
        NoticeKind.EXPIRED: "Its name and address are free again. If you still need it, ask for it again.",
        NoticeKind.FAILED: "You may retry the request, or cancel it.",
    },
    open_request="Open the request",
    somebody="Somebody",
    footer="Request {request_id} of {tenant}. This message was written by Chamberlain; nobody reads answers to it.",
)

_GERMAN = Words(
    things={
        RequestKind.SHARED: "freigegebenes Postfach „{name}“",
        RequestKind.EQUIPMENT: "Gerätepostfach „{name}“",
        RequestKind.ROOM: "Raumpostfach „{name}“",
        RequestKind.GROUP: "Gruppe „{name}“",
        RequestKind.TEAM: "Team „{name}“",
        RequestKind.ASSIGNMENT: "Gästeregeln von „{name}“",
    },
    subjects={
        NoticeKind.APPROVAL_REQUIRED: "Ihre Genehmigung ist gefragt: {thing}",
        NoticeKind.APPROVED: "Genehmigt: {thing}",
        NoticeKind.REJECTED: "Abgelehnt: {thing}",
        NoticeKind.EXPIRED: "Abgelaufen: {thing}",
        NoticeKind.FAILED: "Fehlgeschlagen: {thing}",
    },
    news={
        NoticeKind.APPROVAL_REQUIRED: "Ein Antrag von {requester} wartet auf Genehmigung: {thing}. Sie gehören zu "
        "denen, die ihn genehmigen oder ablehnen können.",
        NoticeKind.APPROVED: "Ihr Antrag wurde genehmigt: {thing}. Er wird jetzt ausgeführt.",
        NoticeKind.REJECTED: "Ihr Antrag wurde abgelehnt: {thing}. Es wurde nichts angelegt.",
        NoticeKind.EXPIRED: "Ihr Antrag ist abgelaufen, weil niemand rechtzeitig entschieden hat: {thing}. Es wurde "
        "nichts angelegt.",
        NoticeKind.FAILED: "Ihr Antrag konnte nicht ausgeführt werden: {thing}.",
    },
    from_template="Die Vorlage ist „{template}“.",
    modes={
        ApprovalMode.ANY: "Eine Genehmigung genügt.",
        ApprovalMode.ALL: "Alle, die gefragt sind, müssen zustimmen; eine Ablehnung lehnt den Antrag ab.",
    },
    level="Dies ist Stufe {level} von {levels}.",
    deadline="Ohne Entscheidung läuft er am {deadline} UTC ab.",
    decided_by="{name} schreibt:",
    cause="Der Grund:",
    what_next={
        NoticeKind.APPROVAL_REQUIRED: "Bitte genehmigen Sie den Antrag, oder lehnen Sie ihn ab.",
        NoticeKind.REJECTED: "Name und Adresse sind wieder frei.",
        NoticeKind.EXPIRED: "Name und Adresse sind wieder frei. Stellen Sie den Antrag neu, wenn Sie ihn "
        "noch brauchen.",
        NoticeKind.FAILED: "Sie können den Antrag wiederholen oder abbrechen.",
    },
    open_request="Antrag öffnen",
    somebody="Jemand",
    footer="Antrag {request_id} von {tenant}. Diese Nachricht hat Chamberlain geschrieben; Antworten "
    "darauf liest niemand.",
)
