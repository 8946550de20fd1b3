"""Times as Graph writes them: UTC, whole seconds."""

from datetime import UTC, datetime


def written_time(moment: datetime) -> str:
    """The time as text."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
