# SPDX-License-Identifier: Apache-2.0
"""The parts of a process that traces wrap."""

from collections.abc import Callable, Mapping

from starlette.types import ASGIApp

from chamberlain.database.transactions import Database
from chamberlain.directory.port import Directory, Guests
from chamberlain.guests.assignments.store import Assigner
from chamberlain.queue.models import JobKind
from chamberlain.queue.worker import Handler
from chamberlain.requests.batcher import Acceptor
from chamberlain.webhooks.sender import Send

# Receives path template, method, status and seconds of a call.
Observe = Callable[[str, str, int, float], None]


class Traces:
    """A process without spans. `provider.SentTraces` adds a span around each part."""

    def application(self, application: ASGIApp) -> ASGIApp:
        """Wrap the application that answers calls."""
        return application

    def observe(self, observe: Observe) -> Observe:
        """Wrap the metrics of calls."""
        return observe

    def acceptor(self, database: Database, *, held_addresses: str | None, observe: Callable[[int], None]) -> Acceptor:
        """Make the batcher that writes submissions."""
        return Acceptor(database, held_addresses=held_addresses, observe=observe)

    def assigner(self, database: Database) -> Assigner:
        """Make the batcher that writes assignments."""
        return Assigner(database)

    def handlers(self, handlers: Mapping[JobKind, Handler]) -> Mapping[JobKind, Handler]:
        """Wrap job handlers."""
        return handlers

    def directory(self, directory: Directory) -> Directory:
        """Wrap the directory of groups and mailboxes."""
        return directory

    def guests(self, guests: Guests) -> Guests:
        """Wrap the directory of guest rules."""
        return guests

    def send(self, send: Send) -> Send:
        """Wrap the client that calls webhooks."""
        return send
