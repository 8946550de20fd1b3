"""Assignments."""

from dataclasses import dataclass

from chamberlain.core.ids import PolicyId, TemplateId


@dataclass(frozen=True, slots=True)
class Assignment:
    """What is assigned; None where nothing is."""

    template_id: TemplateId | None = None
    policy_id: PolicyId | None = None

    @property
    def etag(self) -> str:
        """Names this version: it changes with the two ids and with nothing else."""
        return f'"{self.template_id or "-"}.{self.policy_id or "-"}"'
