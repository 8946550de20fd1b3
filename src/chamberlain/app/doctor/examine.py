"""Look at everything, one thing after another."""

from collections.abc import Sequence

from chamberlain.app.doctor.connections import look_at_directory, look_at_issuers, look_at_webhooks
from chamberlain.app.doctor.database import look_at_queue, look_at_server, look_at_texts, opened_to_look
from chamberlain.app.doctor.machine import AskService, look_at_folder, look_at_keys, look_at_listeners, look_at_settings
from chamberlain.core.health import HealthCheck
from chamberlain.settings import Settings


async def examine(settings: Settings, ask: AskService) -> Sequence[HealthCheck]:
    """Examine the installation, whether its service runs or not.

    `ask` asks the service at an address whether it is ready.
    """
    listeners = await look_at_listeners(settings, ask)
    found = [*look_at_settings(settings), *look_at_folder(settings), *listeners.checkups]
    async with opened_to_look(settings) as opened:
        return [
            *found,
            *opened.checkups,
            *await look_at_server(opened),
            *await look_at_keys(opened),
            *await look_at_issuers(opened, is_served=listeners.are_ours),
            *await look_at_directory(opened),
            *await look_at_webhooks(opened),
            *await look_at_texts(opened),
            *await look_at_queue(opened),
        ]
