"""The service of events."""

from chamberlain.bootstrap.means import Means
from chamberlain.events.service import EventService


def event_service(means: Means) -> EventService:
    """Build the service that the API calls."""
    return EventService(means.database, means.authorization)
