# SPDX-License-Identifier: Apache-2.0
"""Receive webhooks: verify each signature with the SDK, and print each event once."""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from chamberlain_client.errors import WebhookInvalid
from chamberlain_client.webhooks import verify_webhook

SECRET = os.environ["WEBHOOK_SECRET"]
# A real receiver stores the ids together with its work.
seen: set[str] = set()


class Receiver(BaseHTTPRequestHandler):
    """Answers 204 to a valid call, and 400 to any other."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            event = verify_webhook(body, dict(self.headers.items()), SECRET)
        except WebhookInvalid as error:
            print(error, file=sys.stderr, flush=True)
            self.answer(400)
            return
        # The service calls again if it has not received the answer.
        if event.id not in seen:
            seen.add(event.id)
            print(event.type.value, event.request_id, flush=True)
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print events alone."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
