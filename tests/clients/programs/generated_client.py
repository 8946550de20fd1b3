# SPDX-License-Identifier: Apache-2.0
"""A program with the client of openapi-python-client: it creates a group and a room, and reads both."""

import json
import os
import time
from uuid import UUID

from chamberlain_api_client import AuthenticatedClient
from chamberlain_api_client.api.groups_and_sites import read_managed_group
from chamberlain_api_client.api.groups_and_teams import create_group
from chamberlain_api_client.api.mailboxes import create_mailbox, read_mailbox
from chamberlain_api_client.api.requests import read_request
from chamberlain_api_client.models import GroupBody, MailboxBody, Problem, Request, RoomMailboxMetadataShape

WITHIN = 30.0


def main() -> None:
    with AuthenticatedClient(os.environ["API_URL"], os.environ["TOKEN"], raise_on_unexpected_status=True) as client:
        body = GroupBody("Generated", UUID(os.environ["GROUP_TEMPLATE"]))
        group = create_group.sync(client=client, body=body, idempotency_key="generated-group")
        replayed = create_group.sync(client=client, body=body, idempotency_key="generated-group")
        room = create_mailbox.sync(
            client=client,
            body=MailboxBody(
                "generated-room",
                "Generated room",
                capacity=8,
                room_mailbox_metadata=RoomMailboxMetadataShape(has_whiteboard=True),
            ),
        )
        assert not isinstance(group, Problem), group
        assert not isinstance(room, Problem), room
        ended = [wait(client, each.request_id) for each in (group, room)]
        print(
            json.dumps(
                {
                    "states": [each.state.value for each in ended],
                    "replayed": replayed.request_id == group.request_id,
                    "group": read_managed_group.sync(ended[0].result.id, client=client).to_dict(),
                    "room": read_mailbox.sync(room.id, client=client).to_dict(),
                    "refused": create_group.sync(client=client, body=GroupBody("No", UUID(int=1))).to_dict(),
                }
            )
        )


def wait(client: AuthenticatedClient, request_id: UUID) -> Request:
    """The request at its end."""
    end = time.monotonic() + WITHIN
    while (request := read_request.sync(request_id, client=client)).finished_at is None and time.monotonic() < end:
        time.sleep(0.05)
    return request


if __name__ == "__main__":
    main()
