"""Times as Graph writes them: UTC, whole seconds."""

from datetime import UTC, datetime


def written_time(moment: datetime) -> str:
    """The time as text."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
