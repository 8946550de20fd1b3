# SPDX-License-Identifier: Apache-2.0
"""Outgoing mail of resources, by the mail server of their tenant."""

from chamberlain.bookings.mails import Reply
from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.notifications.mail_server import MailServer


class SmtpOutbox:
    """Sends replies by SMTP.

    Organizer and resource are recipients of one message: the server accepts it for both, or the organizer's refusal is
    the outcome.
    """

    def __init__(self, server: MailServer) -> None:
        self._server = server

    async def send(self, reply: Reply) -> OutsideFault | None:
        """Send a reply to the organizer, with a copy to the resource."""
        try:
            return await self._server.send_encoded(reply.sender, [reply.recipient, reply.sender], reply.content)
        except TryAgain as fault:
            return fault
