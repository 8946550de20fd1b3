"""Records of templates: what administrators read and change, and how a change is kept on record."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from chamberlain.rules.callers import Actor
from chamberlain.rules.changes import Change, Subject
from chamberlain.rules.edits import Content, Editor, differences
from chamberlain.rules.errors import Fault, NotFound
from chamberlain.rules.template_areas import TemplateArea
from chamberlain.rules.templates import StoredTemplate, TemplateHead, TemplateKind


@dataclass(frozen=True, slots=True)
class TemplateRecord:
    """A template whole: what it says, who made it, and when it was made and changed."""

    stored: StoredTemplate
    created_at: datetime
    created_by: Actor
    updated_at: datetime

    @property
    def etag(self) -> str:
        """Names this version: a revision is never counted twice."""
        return f'"{self.stored.head.revision}"'


def in_area(record: TemplateRecord | None, area: TemplateArea) -> TemplateRecord:
    """The template, or NotFound when there is none here: each area knows its own kinds only."""
    if record is None or record.stored.head.kind not in area.kinds:
        raise NotFound("There is no such template here. The list has those that there are.")
    return record


def kind_faults(record: TemplateRecord, kind: TemplateKind) -> Iterator[Fault]:
    """Why a template cannot become one of this kind, if it cannot."""
    current = record.stored.head.kind
    if kind is not current:
        detail = f"This template is of kind {current} and stays so. Make a new one for kind {kind}."
        yield Fault("/kind", "templateOfOtherKind", detail)


def created(head: TemplateHead, content: Content, editor: Editor) -> Change:
    """The record of a template that was made."""
    return _change("create", head, editor, before=None, after=_without_id(content))


def replaced(head: TemplateHead, before: Content, after: Content, editor: Editor) -> Change:
    """The record of a template that says something else now: what changed, and nothing else."""
    was, became = differences(before, after)
    return _change("replace", head, editor, before=was, after=became)


def default_lost(head: TemplateHead, editor: Editor) -> Change:
    """The record of a mailbox template that is the default of its kind no longer, because another one has become it."""
    return _change("replace", head, editor, before={"isDefault": True}, after={"isDefault": False})


def removed(head: TemplateHead, content: Content, editor: Editor) -> Change:
    """The record of a template that is gone."""
    return _change("delete", head, editor, before=_without_id(content), after=None)


def _without_id(content: Content) -> Content:
    """The subject of the record names it."""
    return {name: value for name, value in content.items() if name != "id"}


def _change(verb: str, head: TemplateHead, editor: Editor, *, before: Content | None, after: Content | None) -> Change:
    return Change(
        tenant_id=head.tenant_id,
        action=f"template.{verb}",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject("template", head.id, head.name),
        before=before,
        after=after,
        request_id=None,
        trace_id=editor.trace_id,
    )
