"""Letters about requests: what a notice about one says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chamberlain.core.text import one_line
from chamberlain.notifications.models import AboutRequest, Notice, NoticeKind
from chamberlain.notifications.rendering import Letter, Link, Part, Quote
from chamberlain.notifications.words import Language, Words, words_of
from chamberlain.requests.models import RequestRecord
from chamberlain.requests.models_approvals import ApprovalRecord


@dataclass(frozen=True, slots=True)
class RequestNews:
    """What a notice is about: the request as it is now, its tenant, and where a person can look at it, if somewhere."""

    notice: Notice
    about: AboutRequest
    request: RequestRecord
    tenant_name: str
    link: str | None


def request_letter(news: RequestNews, language: Language) -> Letter:
    """What is said in one language."""
    words = words_of(language)
    return Letter(
        language=language,
        subject=words.subjects[news.about.kind].format(thing=_thing(news.request, words)),
        parts=tuple(_parts(news, words)),
        footer=words.footer.format(request_id=news.request.request_id, tenant=one_line(news.tenant_name)),
    )


def _thing(request: RequestRecord, words: Words) -> str:
    return words.things[request.kind].format(name=one_line(request.display_name))


def _parts(news: RequestNews, words: Words) -> Iterator[Part]:
    kind, request = news.about.kind, news.request
    requester = one_line(request.created_by.display_name).strip() or words.somebody
    about = words.news[kind].format(thing=_thing(request, words), requester=requester)
    yield " ".join([about, *_template(request, words)])
    match kind:
        case NoticeKind.APPROVAL_REQUIRED:
            yield from _terms(news.about, request.approvals, words)
        case NoticeKind.APPROVED | NoticeKind.REJECTED:
            yield from _comments(request.approvals, words)
        case NoticeKind.FAILED:
            if request.error is not None:
                yield words.cause
                yield Quote(request.error.detail)
        case NoticeKind.EXPIRED:
            pass
    if (what_next := words.what_next.get(kind)) is not None:
        yield what_next
    if news.link is not None:
        yield Link(words.open_request, news.link)


def _template(request: RequestRecord, words: Words) -> Iterator[str]:
    if request.template is not None:
        yield words.from_template.format(template=one_line(request.template.name))


def _terms(about: AboutRequest, approvals: Sequence[ApprovalRecord], words: Words) -> Iterator[str]:
    level = next((each for each in approvals if each.level == about.level), None)
    if level is None:
        return
    terms = []
    if len(approvals) > 1:
        terms.append(words.level.format(level=level.level, levels=len(approvals)))
    if len(level.approvers) > 1:
        terms.append(words.modes[level.mode])
    if level.deadline is not None:
        terms.append(words.deadline.format(deadline=f"{level.deadline:%Y-%m-%d %H:%M}"))
    if terms:
        yield " ".join(terms)


def _comments(approvals: Sequence[ApprovalRecord], words: Words) -> Iterator[Part]:
    for decision in [decision for level in approvals for decision in level.decisions]:
        if decision.comment is not None and decision.comment.strip():
            yield words.decided_by.format(name=one_line(decision.by.display_name).strip() or words.somebody)
            yield Quote(decision.comment)
