"""Look at everything, one thing after another."""

from collections.abc import Sequence

from chamberlain.bootstrap.doctor.databases import opened_to_look
from chamberlain.bootstrap.doctor.directory import look_at_directory
from chamberlain.bootstrap.doctor.folder import look_at_folder
from chamberlain.bootstrap.doctor.issuers import look_at_issuers
from chamberlain.bootstrap.doctor.keys import look_at_keys
from chamberlain.bootstrap.doctor.listeners import AskService, look_at_listeners
from chamberlain.bootstrap.doctor.queue import look_at_queue
from chamberlain.bootstrap.doctor.server import look_at_server
from chamberlain.bootstrap.doctor.settings import look_at_settings
from chamberlain.bootstrap.doctor.texts import look_at_texts
from chamberlain.bootstrap.doctor.webhooks import look_at_webhooks
from chamberlain.rules.health import Checkup
from chamberlain.settings import Settings


async def examine(settings: Settings, ask: AskService) -> Sequence[Checkup]:
    """How the installation stands, beside its running service or while it is stopped. `ask` asks the service at an
    address whether it is ready."""
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
