# SPDX-License-Identifier: Apache-2.0
"""Request a meeting room with the SDK, and print its address when it exists."""

import os
import sys

from chamberlain_client import Chamberlain, ChamberlainError
from chamberlain_client.models import NewMailbox, RoomMetadata


def main(name: str, display_name: str, capacity: int) -> int:
    """Request the room, and wait for it."""
    room = NewMailbox(
        name=name,
        display_name=display_name,
        capacity=capacity,
        room_mailbox_metadata=RoomMetadata(has_whiteboard=True),
    )
    with Chamberlain(os.environ["CHAMBERLAIN_SERVER"], os.environ["CHAMBERLAIN_TOKEN"]) as chamberlain:
        try:
            accepted = chamberlain.mailboxes.create(room)
            request = chamberlain.wait_for_request(accepted.request_id, timeout=120)
            mailbox = chamberlain.mailboxes.get(accepted.id)
        except ChamberlainError as error:
            # Has a sentence for each error of the body.
            print(error, file=sys.stderr)
            return 1
    print(mailbox.primary_smtp_address, request.state.value)
    return 0 if request.state.value == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
