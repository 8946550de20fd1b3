# SPDX-License-Identifier: Apache-2.0
"""Texts of conversations in each language."""

from dataclasses import dataclass

from chamberlain.conversations.models import NoChoice
from chamberlain.notifications.texts import Language


@dataclass(frozen=True, slots=True)
class ConversationTexts:
    """Texts in one language."""

    how_to_answer: str
    footer: str
    approved: str
    rejected: str
    closed: str
    settled: str
    unclear: str
    reason_missing: str
    room_name: str

    def no_choice(self, reason: NoChoice) -> str:
        """Return the sentence about an answer that decides nothing."""
        match reason:
            case NoChoice.UNCLEAR:
                return self.unclear
            case NoChoice.REASON_MISSING:
                return self.reason_missing


_ENGLISH = ConversationTexts(
    how_to_answer='React with ✅ to approve. Or reply to this message: "approve", or "reject:" and your reason.',
    footer="Request {request_id} of {tenant}.",
    approved="You have approved the request.",
    rejected="You have rejected the request.",
    closed="This question is closed: {detail}",
    settled="This question is closed: no decision of yours is needed any more.",
    unclear='Nothing was decided. Reply to the question with "approve", or with "reject:" and your reason.',
    reason_missing='Nothing was decided. A rejection needs a reason: reply with "reject:" and your reason.',
    room_name="Approvals",
)
_GERMAN = ConversationTexts(
    how_to_answer=(
        "Reagieren Sie mit ✅, um zu genehmigen. Oder antworten Sie auf diese Nachricht: „genehmigen“, oder "
        "„ablehnen:“ und Ihre Begründung."
    ),
    footer="Antrag {request_id} von {tenant}.",
    approved="Sie haben den Antrag genehmigt.",
    rejected="Sie haben den Antrag abgelehnt.",
    closed="Diese Frage ist geschlossen: {detail}",
    settled="Diese Frage ist geschlossen: Ihre Entscheidung wird nicht mehr benötigt.",
    unclear=(
        "Es wurde nichts entschieden. Antworten Sie auf die Frage mit „genehmigen“, oder mit „ablehnen:“ und Ihrer "
        "Begründung."
    ),
    reason_missing=(
        "Es wurde nichts entschieden. Eine Ablehnung braucht eine Begründung: Antworten Sie mit „ablehnen:“ und Ihrer "
        "Begründung."
    ),
    room_name="Genehmigungen",
)


def texts_in(language: Language) -> ConversationTexts:
    """Return the texts in a language."""
    match language:
        case Language.ENGLISH:
            return _ENGLISH
        case Language.GERMAN:
            return _GERMAN
