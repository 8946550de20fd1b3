"""Checks for drift."""

from datetime import datetime

from chamberlain_client.models.model import Model


class DriftCheck(Model, frozen=True, kw_only=True):
    """When a check was asked for last, when the last one began, and when one ended last."""

    asked_at: datetime | None
    began_at: datetime | None
    finished_at: datetime | None
