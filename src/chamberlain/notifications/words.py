"""The words of notices, in every language that they are written in.

What stands in braces is put in once, so that braces in a name are nothing but braces.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.timers import PolicyRule
from chamberlain.notifications.models import NoticeKind
from chamberlain.requests.models import ApprovalMode, RequestKind


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


class PlaceKind(StrEnum):
    """What a policy is assigned to."""

    GROUP = "group"
    TEAM = "team"
    SITE = "site"


@dataclass(frozen=True, slots=True)
class PolicyWords:
    """Everything that a report can say in one language; `thing` is the group, team or site, as `things` call it.

    What is said of reminders is `reminders` and then `will`, of actions `reasons` and then `done`, with the guests in a
    list below.
    """

    things: Mapping[PlaceKind, str]
    asks: str
    tells: str
    policy: str
    no_policy: str
    to_owners: str
    to_administrators: str
    reminders: Mapping[PolicyRule, str]
    will: Mapping[PolicyAction, str]
    reasons: Mapping[PolicyRule, str]
    done: Mapping[PolicyAction, str]
    how_to_confirm: str
    more: str
    too_few_owners: str
    somebody: str
    footer: str


def policy_words_of(language: Language) -> PolicyWords:
    """The words of a language."""
    match language:
        case Language.ENGLISH:
            return _POLICY_ENGLISH
        case Language.GERMAN:
            return _POLICY_GERMAN


_POLICY_ENGLISH = PolicyWords(
    things={PlaceKind.GROUP: 'group "{name}"', PlaceKind.TEAM: 'team "{name}"', PlaceKind.SITE: 'site "{name}"'},
    asks="Please confirm who stays: {thing}",
    tells="Guest policy: {thing}",
    policy='This is what the guest policy "{policy}" does to the {thing}.',
    no_policy="This is what a guest policy has done to the {thing}. None is assigned any more.",
    to_owners="You are told because you own it.",
    to_administrators="You are told because you administer {tenant}.",
    reminders={
        PolicyRule.REVIEW: "These guests stay only if somebody confirms it by the time that stands beside the name.",
        PolicyRule.EXPIRY: "These guests may stay until the time that stands beside the name.",
        PolicyRule.INACTIVITY: "These guests have given no sign for long. Without one they may stay until the time "
        "that stands beside the name.",
    },
    will={
        PolicyAction.REMOVE: "After that they are removed:",
        PolicyAction.DISABLE: "After that their accounts are disabled:",
        PolicyAction.NOTIFY: "After that this is told again, and nothing else is done:",
    },
    reasons={
        PolicyRule.REVIEW: "Nobody has confirmed in time that these guests stay.",
        PolicyRule.EXPIRY: "The time for which these guests may stay is over.",
        PolicyRule.INACTIVITY: "These guests have given no sign for too long.",
    },
    done={
        PolicyAction.REMOVE: "They were removed:",
        PolicyAction.DISABLE: "Their accounts were disabled:",
        PolicyAction.NOTIFY: "This is told, and nothing else is done:",
    },
    how_to_confirm="Whoever shall stay is confirmed by the id that stands before the name: by the command chamberlain "
    "finding confirm ID, or by POST {address}. An account that was disabled stays so.",
    more="And {number} more, who are not named here.",
    too_few_owners="It has too few owners: {owners} instead of {wanted}. Please name more of them in the directory.",
    somebody="Somebody whom the directory does not know any more ({id})",
    footer="About {id} of {tenant}. This message was written by Chamberlain; nobody reads answers to it.",
)

_POLICY_GERMAN = PolicyWords(
    things={PlaceKind.GROUP: "Gruppe „{name}“", PlaceKind.TEAM: "Team „{name}“", PlaceKind.SITE: "Website „{name}“"},
    asks="Bitte bestätigen Sie, wer bleibt: {thing}",
    tells="Gästerichtlinie: {thing}",
    policy="Das tut die Gästerichtlinie „{policy}“ hier: {thing}.",
    no_policy="Das hat eine Gästerichtlinie hier getan: {thing}. Inzwischen ist keine mehr zugewiesen.",
    to_owners="Sie erfahren das als Besitzerin oder Besitzer.",
    to_administrators="Sie erfahren das, weil Sie {tenant} verwalten.",
    reminders={
        PolicyRule.REVIEW: "Diese Gäste bleiben nur, wenn das jemand bis zu der Zeit bestätigt, die neben dem Namen "
        "steht.",
        PolicyRule.EXPIRY: "Diese Gäste dürfen bis zu der Zeit bleiben, die neben dem Namen steht.",
        PolicyRule.INACTIVITY: "Diese Gäste haben lange kein Lebenszeichen gegeben. Ohne eines dürfen sie bis zu der "
        "Zeit bleiben, die neben dem Namen steht.",
    },
    will={
        PolicyAction.REMOVE: "Danach werden sie entfernt:",
        PolicyAction.DISABLE: "Danach werden ihre Konten gesperrt:",
        PolicyAction.NOTIFY: "Danach wird das noch einmal gemeldet und sonst nichts getan:",
    },
    reasons={
        PolicyRule.REVIEW: "Niemand hat rechtzeitig bestätigt, dass diese Gäste bleiben.",
        PolicyRule.EXPIRY: "Die Zeit, für die diese Gäste bleiben dürfen, ist um.",
        PolicyRule.INACTIVITY: "Diese Gäste haben zu lange kein Lebenszeichen gegeben.",
    },
    done={
        PolicyAction.REMOVE: "Sie wurden entfernt:",
        PolicyAction.DISABLE: "Ihre Konten wurden gesperrt:",
        PolicyAction.NOTIFY: "Das wird gemeldet und sonst nichts getan:",
    },
    how_to_confirm="Wer bleiben soll, wird mit der Id bestätigt, die vor dem Namen steht: mit dem Befehl chamberlain "
    "finding confirm ID oder mit POST {address}. Ein gesperrtes Konto bleibt gesperrt.",
    more="Und {number} weitere, die hier nicht genannt sind.",
    too_few_owners="Es gibt zu wenige Besitzer: {owners} statt {wanted}. Bitte bestimmen Sie weitere im Verzeichnis.",
    somebody="Jemand, den das Verzeichnis nicht mehr kennt ({id})",
    footer="Zu {id} von {tenant}. Diese Nachricht hat Chamberlain geschrieben; Antworten darauf liest niemand.",
)
