# SPDX-License-Identifier: Apache-2.0
"""Texts of notices in each language.

Placeholders are replaced once, so braces in a name stay.
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
class RequestTexts:
    """Texts about requests in one language.

    `target` is the requested object. `on_behalf_of` names a substitute with the approver, and `decided_for` says that
    the substitute decided.
    """

    targets: Mapping[RequestKind, str]
    subjects: Mapping[NoticeKind, str]
    notification: Mapping[NoticeKind, str]
    from_template: str
    modes: Mapping[ApprovalMode, str]
    level: str
    deadline: str
    decided_by: str
    on_behalf_of: str
    decided_for: str
    cause: str
    next_steps: Mapping[NoticeKind, str]
    for_approver: str
    reply: str
    reply_code: str
    open_request: str
    review_request: str
    unknown_person: str
    footer: str
    footer_with_replies: str


def language_of(tag: str | None) -> Language:
    """Choose the language for a tag such as `de-CH` (RFC 5646).

    The default is English.
    """
    primary = (tag or "").replace("_", "-").split("-")[0].strip().lower()
    return Language.GERMAN if primary == "de" else Language.ENGLISH


def texts_for(language: Language) -> RequestTexts:
    """The words of a language."""
    match language:
        case Language.ENGLISH:
            return _ENGLISH
        case Language.GERMAN:
            return _GERMAN


_ENGLISH = RequestTexts(
    targets={
        RequestKind.SHARED: 'shared mailbox "{name}"',
        RequestKind.EQUIPMENT: 'equipment mailbox "{name}"',
        RequestKind.ROOM: 'room mailbox "{name}"',
        RequestKind.GROUP: 'group "{name}"',
        RequestKind.TEAM: 'team "{name}"',
        RequestKind.ASSIGNMENT: 'guest rules of "{name}"',
        RequestKind.REPAIR: 'repair of "{name}"',
    },
    subjects={
        NoticeKind.APPROVAL_REQUIRED: "Your approval is needed: {target}",
        NoticeKind.SUBSTITUTE_REQUIRED: "Your approval is needed as a substitute: {target}",
        NoticeKind.APPROVAL_REMINDER: "Reminder: your approval is needed: {target}",
        NoticeKind.APPROVED: "Approved: {target}",
        NoticeKind.REJECTED: "Rejected: {target}",
        NoticeKind.EXPIRED: "Expired: {target}",
        NoticeKind.FAILED: "Failed: {target}",
    },
    notification={
        NoticeKind.APPROVAL_REQUIRED: "{requester} requested the {target}. You are one of the approvers who can "
        "approve or reject the request.",
        NoticeKind.SUBSTITUTE_REQUIRED: "{requester} requested the {target}.",
        NoticeKind.APPROVAL_REMINDER: "The request of {requester} for the {target} still waits for a decision.",
        NoticeKind.APPROVED: "Your request for the {target} was approved. It is being processed.",
        NoticeKind.REJECTED: "Your request for the {target} was rejected. Nothing was created.",
        NoticeKind.EXPIRED: "Your request for the {target} has expired, because no approver decided in time. "
        "Nothing was created.",
        NoticeKind.FAILED: "Your request for the {target} could not be completed.",
    },
    from_template='Its template is "{template}".',
    modes={
        ApprovalMode.ANY: "One approval is enough.",
        ApprovalMode.ALL: "All approvers must approve it. One rejection rejects it.",
    },
    level="This is level {level} of {levels}.",
    deadline="Without a decision it expires on {deadline.day} {deadline:%b %Y, %H:%M} UTC.",
    decided_by="{name} wrote:",
    on_behalf_of="{name} for {approver}",
    decided_for="Decided by {name}.",
    cause="The reason:",
    next_steps={
        NoticeKind.APPROVAL_REQUIRED: "Please approve or reject it.",
        NoticeKind.SUBSTITUTE_REQUIRED: "Please approve or reject it.",
        NoticeKind.APPROVAL_REMINDER: "Please approve or reject it.",
        NoticeKind.REJECTED: "Its name and address are free again.",
        NoticeKind.EXPIRED: "Its name and address are free again. If you still need it, request it again.",
        NoticeKind.FAILED: "You can retry or cancel the request.",
    },
    for_approver="You can decide as the substitute of {approver}.",
    reply='You can also reply to this message. Write "approve", or "reject:" and your reason, in the first line, and '
    "keep the quoted message with this line:",
    reply_code="Reply code: {token}",
    open_request="Open the request",
    review_request="Review the request",
    unknown_person="A user",
    footer="Request {request_id} of {tenant}. This is an automatic message of Chamberlain. Replies are not read.",
    footer_with_replies="Request {request_id} of {tenant}. This is an automatic message of Chamberlain.",
)

_GERMAN = RequestTexts(
    targets={
        RequestKind.SHARED: "freigegebenes Postfach „{name}“",
        RequestKind.EQUIPMENT: "Gerätepostfach „{name}“",
        RequestKind.ROOM: "Raumpostfach „{name}“",
        RequestKind.GROUP: "Gruppe „{name}“",
        RequestKind.TEAM: "Team „{name}“",
        RequestKind.ASSIGNMENT: "Gästeregeln von „{name}“",
        RequestKind.REPAIR: "Korrektur von „{name}“",
    },
    subjects={
        NoticeKind.APPROVAL_REQUIRED: "Ihre Genehmigung ist gefragt: {target}",
        NoticeKind.SUBSTITUTE_REQUIRED: "Ihre Genehmigung ist in Vertretung gefragt: {target}",
        NoticeKind.APPROVAL_REMINDER: "Erinnerung: Ihre Genehmigung ist gefragt: {target}",
        NoticeKind.APPROVED: "Genehmigt: {target}",
        NoticeKind.REJECTED: "Abgelehnt: {target}",
        NoticeKind.EXPIRED: "Abgelaufen: {target}",
        NoticeKind.FAILED: "Fehlgeschlagen: {target}",
    },
    notification={
        NoticeKind.APPROVAL_REQUIRED: "Eine Anfrage von {requester} wartet auf Genehmigung: {target}. Sie gehören zu "
        "denen, die sie genehmigen oder ablehnen können.",
        NoticeKind.SUBSTITUTE_REQUIRED: "Eine Anfrage von {requester} wartet auf Genehmigung: {target}.",
        NoticeKind.APPROVAL_REMINDER: "Eine Anfrage von {requester} wartet noch auf Genehmigung: {target}.",
        NoticeKind.APPROVED: "Ihre Anfrage wurde genehmigt: {target}. Sie wird jetzt ausgeführt.",
        NoticeKind.REJECTED: "Ihre Anfrage wurde abgelehnt: {target}. Es wurde nichts angelegt.",
        NoticeKind.EXPIRED: "Ihre Anfrage ist abgelaufen, weil niemand rechtzeitig entschieden hat: {target}. Es wurde "
        "nichts angelegt.",
        NoticeKind.FAILED: "Ihre Anfrage konnte nicht ausgeführt werden: {target}.",
    },
    from_template="Die Vorlage ist „{template}“.",
    modes={
        ApprovalMode.ANY: "Eine Genehmigung genügt.",
        ApprovalMode.ALL: "Alle, die gefragt sind, müssen zustimmen; eine Ablehnung lehnt die Anfrage ab.",
    },
    level="Dies ist Stufe {level} von {levels}.",
    deadline="Ohne Entscheidung läuft sie am {deadline:%d.%m.%Y, %H:%M} UTC ab.",
    decided_by="{name} schreibt:",
    on_behalf_of="{name} in Vertretung von {approver}",
    decided_for="Entschieden hat {name}.",
    cause="Der Grund:",
    next_steps={
        NoticeKind.APPROVAL_REQUIRED: "Bitte genehmigen Sie die Anfrage, oder lehnen Sie sie ab.",
        NoticeKind.SUBSTITUTE_REQUIRED: "Bitte genehmigen Sie die Anfrage, oder lehnen Sie sie ab.",
        NoticeKind.APPROVAL_REMINDER: "Bitte genehmigen Sie die Anfrage, oder lehnen Sie sie ab.",
        NoticeKind.REJECTED: "Name und Adresse sind wieder frei.",
        NoticeKind.EXPIRED: "Name und Adresse sind wieder frei. Stellen Sie die Anfrage neu, wenn Sie das Angefragte "
        "noch brauchen.",
        NoticeKind.FAILED: "Sie können die Anfrage wiederholen oder abbrechen.",
    },
    for_approver="Sie können in Vertretung von {approver} entscheiden.",
    reply="Sie können auch auf diese Nachricht antworten. Schreiben Sie „genehmigen“ oder „ablehnen:“ mit Ihrem Grund "
    "in die erste Zeile, und lassen Sie die zitierte Nachricht mit dieser Zeile stehen:",
    reply_code="Antwortcode: {token}",
    open_request="Anfrage öffnen",
    review_request="Anfrage prüfen",
    unknown_person="Eine Person",
    footer="Anfrage {request_id} von {tenant}. Dies ist eine automatische Nachricht von Chamberlain. "
    "Antworten werden nicht gelesen.",
    footer_with_replies="Anfrage {request_id} von {tenant}. Dies ist eine automatische Nachricht von Chamberlain.",
)


class PlaceKind(StrEnum):
    """The kinds of objects that a policy is assigned to."""

    GROUP = "group"
    TEAM = "team"
    SITE = "site"


@dataclass(frozen=True, slots=True)
class PolicyTexts:
    """Texts of policy reports in one language.

    `target` is the group or site.

    A reminder consists of `reminders` and `will`, an action of `reasons` and `done`, each with a list of guests.
    """

    targets: Mapping[PlaceKind, str]
    confirm_subject: str
    report_subject: str
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
    unknown_person: str
    footer: str


def policy_texts_for(language: Language) -> PolicyTexts:
    """The words of a language."""
    match language:
        case Language.ENGLISH:
            return _POLICY_ENGLISH
        case Language.GERMAN:
            return _POLICY_GERMAN


@dataclass(frozen=True, slots=True)
class DriftTexts:
    """Texts of drift reports in one language."""

    subject: str
    found: str
    more: str
    next_steps: str
    footer: str


def drift_texts_for(language: Language) -> DriftTexts:
    """The words of a language."""
    match language:
        case Language.ENGLISH:
            return _DRIFT_ENGLISH
        case Language.GERMAN:
            return _DRIFT_GERMAN


_DRIFT_ENGLISH = DriftTexts(
    subject="Drift: {number} new in {tenant}",
    found="These properties in the directory differ from their desired values. Each line has the ID of the "
    "finding, the property and the object:",
    more="And {number} more.",
    next_steps="To see all of them, run chamberlain finding list --state open. To decide on one, use chamberlain "
    "finding repair ID, accept ID or ignore ID.",
    footer="Drift of {tenant}. You receive this message because you administer it. This is an automatic message of "
    "Chamberlain. Replies are not read.",
)

_DRIFT_GERMAN = DriftTexts(
    subject="Abweichungen: {number} neue in {tenant}",
    found="Diese Eigenschaften im Verzeichnis weichen von den gewünschten Werten ab. Jede Zeile nennt die ID des "
    "Befunds, die Eigenschaft und das Objekt:",
    more="Und {number} weitere.",
    next_steps="Alle zeigt der Befehl chamberlain finding list --state open. Über eine entscheiden Sie mit chamberlain "
    "finding repair ID, accept ID oder ignore ID.",
    footer="Abweichungen von {tenant}. Sie erhalten diese Nachricht, weil Sie {tenant} verwalten. Dies ist "
    "eine automatische Nachricht von Chamberlain. Antworten werden nicht gelesen.",
)

_POLICY_ENGLISH = PolicyTexts(
    targets={PlaceKind.GROUP: 'group "{name}"', PlaceKind.TEAM: 'team "{name}"', PlaceKind.SITE: 'site "{name}"'},
    confirm_subject="Please confirm who stays: {target}",
    report_subject="Guest policy: {target}",
    policy='The guest policy "{policy}" applies to the {target}.',
    no_policy="A guest policy applied to the {target}. It is no longer assigned.",
    to_owners="You receive this message as an owner.",
    to_administrators="You receive this message because you administer {tenant}.",
    reminders={
        PolicyRule.REVIEW: "These guests stay only if they are confirmed by the time next to their name.",
        PolicyRule.EXPIRY: "These guests may stay until the time next to their name.",
        PolicyRule.INACTIVITY: "These guests have been inactive for a long time. If they stay inactive, they may "
        "stay until the time next to their name.",
    },
    will={
        PolicyAction.REMOVE: "After that they are removed:",
        PolicyAction.DISABLE: "After that their accounts are disabled:",
        PolicyAction.NOTIFY: "After that this is reported again, and nothing else is done:",
    },
    reasons={
        PolicyRule.REVIEW: "These guests were not confirmed in time.",
        PolicyRule.EXPIRY: "The time for which these guests may stay is over.",
        PolicyRule.INACTIVITY: "These guests have been inactive for too long.",
    },
    done={
        PolicyAction.REMOVE: "They were removed:",
        PolicyAction.DISABLE: "Their accounts were disabled:",
        PolicyAction.NOTIFY: "This is reported, and nothing else is done:",
    },
    how_to_confirm="To confirm a guest, use the ID before the name: run the command chamberlain finding confirm ID, "
    "or call POST {address}. A disabled account stays disabled.",
    more="And {number} more guests.",
    too_few_owners="It has too few owners: {owners} instead of {wanted}. Please add owners in the directory.",
    unknown_person="A user who is no longer in the directory ({id})",
    footer="About {id} of {tenant}. This is an automatic message of Chamberlain. Replies are not read.",
)

_POLICY_GERMAN = PolicyTexts(
    targets={PlaceKind.GROUP: "Gruppe „{name}“", PlaceKind.TEAM: "Team „{name}“", PlaceKind.SITE: "Website „{name}“"},
    confirm_subject="Bitte bestätigen Sie, wer bleibt: {target}",
    report_subject="Gästerichtlinie: {target}",
    policy="Hier gilt die Gästerichtlinie „{policy}“: {target}.",
    no_policy="Hier galt eine Gästerichtlinie: {target}. Inzwischen ist keine mehr zugewiesen.",
    to_owners="Sie erhalten diese Nachricht als Besitzerin oder Besitzer.",
    to_administrators="Sie erhalten diese Nachricht, weil Sie {tenant} verwalten.",
    reminders={
        PolicyRule.REVIEW: "Diese Gäste bleiben nur, wenn sie bis zu der Zeit bestätigt werden, die neben dem Namen "
        "steht.",
        PolicyRule.EXPIRY: "Diese Gäste dürfen bis zu der Zeit bleiben, die neben dem Namen steht.",
        PolicyRule.INACTIVITY: "Diese Gäste waren lange nicht aktiv. Bleiben sie inaktiv, dürfen sie bis zu der Zeit "
        "bleiben, die neben dem Namen steht.",
    },
    will={
        PolicyAction.REMOVE: "Danach werden sie entfernt:",
        PolicyAction.DISABLE: "Danach werden ihre Konten gesperrt:",
        PolicyAction.NOTIFY: "Danach wird das noch einmal gemeldet und sonst nichts getan:",
    },
    reasons={
        PolicyRule.REVIEW: "Diese Gäste wurden nicht rechtzeitig bestätigt.",
        PolicyRule.EXPIRY: "Die Zeit, für die diese Gäste bleiben dürfen, ist um.",
        PolicyRule.INACTIVITY: "Diese Gäste waren zu lange nicht aktiv.",
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
    unknown_person="Eine Person, die das Verzeichnis nicht mehr kennt ({id})",
    footer="Zu {id} von {tenant}. Dies ist eine automatische Nachricht von Chamberlain. Antworten werden nicht "
    "gelesen.",
)
