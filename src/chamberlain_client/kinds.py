"""Templates of groups, teams and guests, each as what its kind is. Pure."""

from msgspec import Raw

from chamberlain_client.answers import decoded_bytes
from chamberlain_client.models.collab_templates import CollabTemplate, GroupTemplate, GuestTemplate
from chamberlain_client.models.model import Model
from chamberlain_client.models.templates import TemplateKind


class _Kind(Model, frozen=True):
    kind: TemplateKind


def collab_template_of(content: bytes | Raw) -> CollabTemplate:
    """The template that these bytes are. Raises AnswerNotUnderstood."""
    if decoded_bytes(content, _Kind).kind is TemplateKind.GUEST:
        return decoded_bytes(content, GuestTemplate)
    return decoded_bytes(content, GroupTemplate)
