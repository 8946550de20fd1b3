"""Where webhooks are called, and whether they can be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from chamberlain.core.checkups import Checkup, doubtful, faulty, well
from chamberlain.core.ids import TemplateId, TenantId


class Reach(Enum):
    """Whether an address can be called, and else why not. Whoever sets addresses is never told which it is."""

    YES = auto()
    NOT_HTTPS = auto()
    NO_NAME = auto()
    REFUSED = auto()


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """A template's webhook, and how it gets on."""

    tenant_id: TenantId
    template_id: TemplateId
    template_name: str
    url: str
    active: bool
    failing_since: datetime | None
    disabled_reason: str | None

    @property
    def called(self) -> str:
        """What a sentence begins with that is about it. Its address may hold a secret and is left out."""
        return f"The webhook of template {self.template_name!r} ({self.template_id}, tenant {self.tenant_id})"


def judge_targets(targets: Sequence[WebhookTarget], reaches: Mapping[str, Reach]) -> Sequence[Checkup]:
    """One line for each that somebody has to look at, and one for all that are well. `reaches` is by address."""
    active = [target for target in targets if target.active]
    if not active:
        return [well("webhooks", "There is no active webhook.")]
    found = [checkup for target in active if (checkup := _judged(target, reaches[target.url])) is not None]
    if found and len(found) == len(active):
        return found
    return [*found, well("webhooks", f"{len(active) - len(found)} of {len(active)} active webhooks can be called.")]


def _judged(target: WebhookTarget, reach: Reach) -> Checkup | None:
    if target.disabled_reason is not None:
        cure = 'Mend the receiver, then PUT the template with "active": true for its webhook.'
        return doubtful("webhooks", f"{target.called} was disabled: {target.disabled_reason}", cure)
    match reach:
        case Reach.NOT_HTTPS:
            cure = "Give it an address with https, or set CHAMBERLAIN_WEBHOOK_ALLOW_HTTP=true."
            return faulty("webhooks", f"{target.called} has an address without https.", cure)
        case Reach.NO_NAME:
            cure = "Look whether the name is written well, and whether this machine can look names up."
            return faulty("webhooks", f"{target.called} has a name that stands for no address here.", cure)
        case Reach.REFUSED:
            cure = "Give it a public address, or name its network in CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS."
            return faulty("webhooks", f"{target.called} stands in a network that may not be called.", cure)
        case Reach.YES:
            return _failing(target)


def _failing(target: WebhookTarget) -> Checkup | None:
    if target.failing_since is None:
        return None
    cure = "GET /admin/v1/deliveries/ shows what it answers. After five days it is called no more."
    return doubtful("webhooks", f"{target.called} has failed since {target.failing_since:%Y-%m-%dT%H:%M:%SZ}.", cure)
