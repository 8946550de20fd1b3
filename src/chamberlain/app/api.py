"""The application that the listeners serve: the API, with the embedded directory and identity platform beside it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from chamberlain.app.clock_and_ids import local_now
from chamberlain.app.data_folder import DataFolder, make_secret, write_file
from chamberlain.app.databases import Databases
from chamberlain.app.delivery import webhook_sender
from chamberlain.app.dependencies import Watching, made_means
from chamberlain.app.directory import GRAPH_AUDIENCE, graph_application
from chamberlain.app.identity import identity_application, make_identity_platform, make_trust
from chamberlain.app.routes import create_app
from chamberlain.app.services import make_http_context, make_services
from chamberlain.app.tracing.wiring import Traces
from chamberlain.auth.tokens import api_audiences
from chamberlain.embedded.identity.certificates import ServerCertificate, make_server_certificate
from chamberlain.http.hosts import ClientAddresses
from chamberlain.http.streams import Streams
from chamberlain.queue.notifier import Notifier
from chamberlain.secrets.keyring import Keyring, KeysUnusable, load_keyring
from chamberlain.settings import Settings


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What is served, and the context for the listener with TLS (None without the embedded identity platform)."""

    application: ASGIApp
    tls: ssl.SSLContext | None


@asynccontextmanager
async def built_endpoints(
    settings: Settings,
    databases: Databases,
    notifier: Notifier,
    folder: DataFolder,
    *,
    watching: Watching,
    stop: asyncio.Event,
    traces: Traces,
) -> AsyncIterator[Endpoints]:
    """Everything that answers, for as long as the block runs. Answers that go on end when `stop` is set."""
    certificate = _certificate(settings, folder)
    keyring = load_keyring(settings.keys_file)
    async with AsyncExitStack() as stack:
        trust = make_trust(settings, databases, None if certificate is None else certificate.authority_pem)
        stack.push_async_callback(trust.keys.close)
        sender = await stack.enter_async_context(webhook_sender(settings))
        means = await stack.enter_async_context(
            made_means(
                settings,
                databases,
                prefixes=trust.prefixes,
                notifier=notifier,
                watching=watching,
                keyring=keyring,
                send=traces.send(sender.send),
                traces=traces,
            )
        )
        verify = trust.verifier(api_audiences(trust.prefixes)).verify
        graph = graph_application(settings, databases, trust.verifier(frozenset({GRAPH_AUDIENCE})))
        mounts = {urlsplit(settings.graph_url).path: graph}
        if settings.embedded_identity:
            mounts["/identity"] = await _identity(settings, databases, folder, keyring)
        application = create_app(
            make_http_context(means, verify, Streams(local_now, stop)), make_services(means), mounts
        )
        traced = traces.application(application)
        # Without a proxy no call pays for looking.
        served = ClientAddresses(traced, settings.proxies) if settings.proxies else traced
        yield Endpoints(served, None if certificate is None else certificate.context)


def _certificate(settings: Settings, folder: DataFolder) -> ServerCertificate | None:
    if not settings.embedded_identity:
        return None
    certificate = make_server_certificate(folder.path, local_now())
    write_file(folder.authority, certificate.authority_pem, mode=0o644)
    return certificate


async def _identity(settings: Settings, databases: Databases, folder: DataFolder, keyring: Keyring) -> ASGIApp:
    platform = make_identity_platform(settings, databases, keyring, make_secret(folder.local_secret))
    # A keys file that does not open the signing keys is told now, not at the first token.
    try:
        await platform.keys.current()
    except KeysUnusable as error:
        raise KeysUnusable(f"{settings.keys_file}: {error}") from error
    return identity_application(platform)
