"""The words of reports about guest policies, in every language that notices are written in.

What stands in braces is put in once, so that braces in a name are nothing but braces.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.timers import PolicyRule
from chamberlain.notifications.words import Language


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
            return _ENGLISH
        case Language.GERMAN:
            return _GERMAN


_ENGLISH = PolicyWords(
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

_GERMAN = PolicyWords(
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
