# SPDX-License-Identifier: Apache-2.0
"""Recipients, texts and deadlines of notices."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from uuid import UUID, uuid4

import pytest

from chamberlain.auth.models import Actor, ActorType
from chamberlain.core.ids import ClientId, NoticeId, RequestId, TemplateId, TenantId, UserId
from chamberlain.directory.models import NamedPerson, Person
from chamberlain.directory.steps import Step
from chamberlain.notifications.models import AboutRequest, Notice, NoticeKind
from chamberlain.notifications.rendering import (
    Mail,
    RequestNotification,
    address_of,
    language_for,
    request_email,
    to_mail,
)
from chamberlain.notifications.rules import (
    GIVE_UP_AFTER,
    RETRY_SCHEDULE,
    next_wait,
    pending_recipients,
    request_recipients,
)
from chamberlain.notifications.texts import Language, language_of, texts_for
from chamberlain.requests.models import (
    ApprovalMode,
    ApprovalRecord,
    ApprovalState,
    Decision,
    DecisionOutcome,
    RequestError,
    RequestKind,
    RequestRecord,
    RequestState,
    TemplateReference,
)

pytestmark = pytest.mark.pure

TENANT = TenantId(uuid4())
ADA = UserId(UUID("ada00000-0000-4000-8000-000000000001"))
BEN = UserId(UUID("be000000-0000-4000-8000-000000000002"))
DARA = UserId(UUID("da7a0000-0000-4000-8000-000000000004"))
NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
HOSTILE = 'x"</p><script>alert(1)</script>\r\nBcc: eve@evil.example\u202egpj.{requester}'


def decision(user: UserId, outcome: DecisionOutcome, comment: str | None = None) -> Decision:
    return Decision(Actor(ActorType.USER, user, "Dara Lindqvist"), outcome, comment, NOW)


def level(state: ApprovalState = ApprovalState.PENDING, *decisions: Decision, number: int = 1) -> ApprovalRecord:
    approvers = (NamedPerson(BEN, "Ben Okafor"), NamedPerson(DARA, "Dara Lindqvist"))
    return ApprovalRecord(number, ApprovalMode.ALL, state, NOW + timedelta(days=14), approvers, decisions)


def request(state: RequestState = RequestState.PENDING_APPROVAL, *approvals: ApprovalRecord) -> RequestRecord:
    return RequestRecord(
        request_id=RequestId(UUID("0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10")),
        tenant_id=TENANT,
        approval_required=True,
        kind=RequestKind.TEAM,
        state=state,
        display_name="CONF-Secret",
        template=TemplateReference(TemplateId(uuid4()), "Confidential team"),
        body=b"{}",
        waiting=None,
        blocked=None,
        error=None,
        warnings=(),
        result=None,
        steps=(),
        created_at=NOW,
        created_by=Actor(ActorType.USER, ADA, "Ada Achterberg"),
        client_id=ClientId("cli"),
        updated_at=NOW,
        finished_at=None,
        approvals=approvals,
    )


def notice(kind: NoticeKind = NoticeKind.APPROVAL_REQUIRED, *told: UserId, asks: int | None = 1) -> Notice:
    number = asks if kind is NoticeKind.APPROVAL_REQUIRED else None
    about = AboutRequest(kind, request().request_id, number)
    return Notice(TENANT, NoticeId(uuid4()), about, NOW, 0, frozenset(told))


def recipients(told_of: Notice, about: RequestRecord) -> tuple[UserId, ...]:
    assert isinstance(told_of.about, AboutRequest)
    return pending_recipients(told_of, request_recipients(told_of.about, about))


def compose(news: RequestNotification, to: Person, address: str) -> Mail:
    return to_mail(news.notice, request_email(news, language_for(to)), to, address)


def news_of(
    told_of: Notice, about: RequestRecord, tenant: str = "Estate", link: str | None = None
) -> RequestNotification:
    assert isinstance(told_of.about, AboutRequest)
    return RequestNotification(told_of, told_of.about, about, tenant, link)


def person(user: UserId = DARA, name: str = "Dara Lindqvist", *, mail: str | None = "dara@x.example") -> Person:
    return Person(id=user, display_name=name, mail=mail, has_team_license=False, properties={})


def mail_about(
    kind: NoticeKind, about: RequestRecord, *, language: str = "en", link: str | None = None, tenant: str = "Estate"
) -> Mail:
    to = replace(person(), properties={"preferredLanguage": language})
    return compose(news_of(notice(kind), about, tenant, link), to, "dara@x.example")


PENDING = RequestState.PENDING_APPROVAL
APPROVED = decision(DARA, DecisionOutcome.APPROVED)


@pytest.mark.parametrize(
    ("told_of", "about", "expected"),
    [
        (notice(), request(PENDING, level()), (BEN, DARA)),
        (notice(NoticeKind.APPROVED), request(RequestState.QUEUED), (ADA,)),
        (notice(NoticeKind.APPROVED), request(RequestState.SUCCEEDED), (ADA,)),
        (notice(NoticeKind.REJECTED), request(RequestState.REJECTED), (ADA,)),
        (notice(NoticeKind.EXPIRED), request(RequestState.EXPIRED), (ADA,)),
        (notice(NoticeKind.FAILED), request(RequestState.FAILED), (ADA,)),
        # A user with the notice, or with a decision, gets none.
        (notice(NoticeKind.APPROVAL_REQUIRED, BEN), request(PENDING, level()), (DARA,)),
        (notice(NoticeKind.FAILED, ADA), request(RequestState.FAILED), ()),
        (notice(), request(PENDING, level(ApprovalState.PENDING, APPROVED)), (BEN,)),
        # A notice that is no longer true is not sent.
        (notice(), request(RequestState.CANCELLED, level()), ()),
        (notice(), request(PENDING, level(ApprovalState.APPROVED), level(number=2)), ()),
        (notice(asks=2), request(PENDING, level(ApprovalState.APPROVED), level(number=2)), (BEN, DARA)),
        (notice(), request(PENDING, level(ApprovalState.BLOCKED)), ()),
        (notice(NoticeKind.FAILED), request(RequestState.RUNNING), ()),
        (notice(NoticeKind.APPROVED), request(RequestState.CANCELLED), ()),
    ],
)
def test_it_works_for_those_whom_it_concerns(
    told_of: Notice, about: RequestRecord, expected: tuple[UserId, ...]
) -> None:
    assert recipients(told_of, about) == expected


def test_it_rejects_programs() -> None:
    program = replace(request(RequestState.FAILED), created_by=Actor(ActorType.APPLICATION, uuid4(), "automation"))

    assert recipients(notice(NoticeKind.FAILED), program) == ()


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("de", Language.GERMAN),
        ("de-CH", Language.GERMAN),
        ("DE_at", Language.GERMAN),
        ("en-GB", Language.ENGLISH),
        ("fr-FR", Language.ENGLISH),
        ("den", Language.ENGLISH),
        ("", Language.ENGLISH),
        (None, Language.ENGLISH),
    ],
)
def test_it_works_in_the_language_of_the_recipient(tag: str | None, expected: Language) -> None:
    assert language_of(tag) is expected


@pytest.mark.parametrize("language", list(Language))
def test_it_works_with_words_for_everything(language: Language) -> None:
    texts = texts_for(language)

    assert set(texts.targets) == set(RequestKind)
    assert set(texts.subjects) == set(texts.notification) == set(NoticeKind)
    assert set(texts.modes) == set(ApprovalMode)


@pytest.mark.parametrize(
    ("kind", "about", "english", "german"),
    [
        (
            NoticeKind.APPROVAL_REQUIRED,
            request(PENDING, level()),
            ('Your approval is needed: team "CONF-Secret"', "Ada Achterberg requested the", "4 Dec 2026, 09:30 UTC"),
            ("Ihre Genehmigung ist gefragt: Team „CONF-Secret“", "Anfrage von Ada Achterberg", "04.12.2026, 09:30 UTC"),
        ),
        (
            NoticeKind.APPROVED,
            request(RequestState.QUEUED, level(ApprovalState.APPROVED)),
            ('Approved: team "CONF-Secret"', "was approved"),
            ("Genehmigt: Team „CONF-Secret“", "wurde genehmigt"),
        ),
        (
            NoticeKind.REJECTED,
            request(
                RequestState.REJECTED,
                level(ApprovalState.REJECTED, decision(DARA, DecisionOutcome.REJECTED, "Not now.\nAsk in May.")),
            ),
            ('Rejected: team "CONF-Secret"', "Dara Lindqvist wrote:\n\n> Not now.\n> Ask in May."),
            ("Abgelehnt: Team „CONF-Secret“", "Dara Lindqvist schreibt:\n\n> Not now.\n> Ask in May."),
        ),
        (
            NoticeKind.EXPIRED,
            request(RequestState.EXPIRED),
            ('Expired: team "CONF-Secret"', "no approver decided in time"),
            ("Abgelaufen: Team „CONF-Secret“", "niemand rechtzeitig entschieden"),
        ),
        (
            NoticeKind.FAILED,
            replace(request(RequestState.FAILED), error=RequestError(Step.CREATE_GROUP, "quota", "The suite is full.")),
            ('Failed: team "CONF-Secret"', "could not be completed", "> The suite is full."),
            ("Fehlgeschlagen: Team „CONF-Secret“", "konnte nicht ausgeführt werden", "> The suite is full."),
        ),
    ],
)
def test_it_works_in_both_languages(
    kind: NoticeKind, about: RequestRecord, english: tuple[str, ...], german: tuple[str, ...]
) -> None:
    for language, (subject, *sentences) in (("en", english), ("de-DE", german)):
        mail = mail_about(kind, about, language=language)

        assert mail.subject == subject
        for sentence in [*sentences, str(about.request_id), "Confidential team", "Estate"]:
            assert sentence in mail.text
        assert f'<html lang="{language[:2]}">' in mail.html


def test_it_works_with_one_id_for_each_event_and_recipient() -> None:
    news = news_of(notice(), request(PENDING, level()))

    ids = [compose(news, person(user), "a@x.example").id for user in (DARA, DARA, BEN)]

    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("kind", list(NoticeKind))
def test_it_handles_hostile_names_as_data(kind: NoticeKind, language: str) -> None:
    comment = decision(DARA, DecisionOutcome.REJECTED, HOSTILE)
    by = Actor(ActorType.USER, ADA, HOSTILE)
    about = replace(
        request(PENDING, level(ApprovalState.PENDING, replace(comment, by=by))),
        display_name=HOSTILE,
        created_by=by,
        template=TemplateReference(TemplateId(uuid4()), HOSTILE),
        error=RequestError(Step.CREATE_GROUP, "x", HOSTILE),
        state=RequestState.FAILED,
    )
    mail = mail_about(kind, about, language=language, link='https://x.example/?a="&b=<c>', tenant=HOSTILE)

    assert len(mail.subject.splitlines()) == 1
    assert not any(line.lower().startswith("bcc:") for line in mail.text.splitlines())
    assert "\u202e" not in mail.subject + mail.text + mail.html
    assert "{requester}" in mail.text
    assert elements(mail.html) <= {"html", "head", "meta", "title", "body", "p", "a", "blockquote", "br", "hr", "small"}


def test_it_works_with_a_link() -> None:
    mail = mail_about(NoticeKind.EXPIRED, request(RequestState.EXPIRED), link="https://x.example/?a=1&b=2")

    assert "Open the request: https://x.example/?a=1&b=2" in mail.text
    assert '<a href="https://x.example/?a=1&amp;b=2">' in mail.html


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        ("ada@estate.example", True),
        ("ada+list@estate.example", True),
        ("ädä@estate.example", True),
        ("ada@[127.0.0.1]", True),
        (None, False),
        ("", False),
        ("ada", False),
        ("@estate.example", False),
        ("ada@", False),
        ("ada@estate.example, eve@evil.example", False),
        ("ada@estate.example\r\nBcc: eve@evil.example", False),
        ("<ada@estate.example>", False),
        ("a" * 244 + "@x.example", True),
        ("a" * 245 + "@x.example", False),
    ],
)
def test_it_rejects_what_is_no_address(address: str | None, *, is_one: bool) -> None:
    assert address_of(person(mail=address)) == (address if is_one else None)


def test_it_works_until_it_is_given_up() -> None:
    waits = [next_wait(attempt, notice(), NOW) for attempt in range(1, 12)]

    assert waits[: len(RETRY_SCHEDULE)] == list(RETRY_SCHEDULE)
    assert set(waits[len(RETRY_SCHEDULE) :]) == {RETRY_SCHEDULE[-1]}
    assert next_wait(3, notice(), NOW + GIVE_UP_AFTER) is None


def elements(html: str) -> set[str]:
    """The names of all elements that a browser would see."""
    found: set[str] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's word
            found.add(tag)

    Reader().feed(html)
    return found


def test_the_waits_and_the_end_are_as_documented() -> None:
    minutes = [each / timedelta(minutes=1) for each in RETRY_SCHEDULE]

    assert minutes == [1 / 6, 0.5, 2, 10, 30, 60, 120, 240]
    assert timedelta(days=3) == GIVE_UP_AFTER
    assert next_wait(3, notice(), NOW + GIVE_UP_AFTER - timedelta(microseconds=1)) == timedelta(minutes=2)


def test_rows_have_these_words() -> None:
    assert [str(each) for each in NoticeKind] == [
        "approvalRequired",
        "substituteRequired",
        "approvalReminder",
        "approved",
        "rejected",
        "expired",
        "failed",
    ]
