# SPDX-License-Identifier: Apache-2.0
"""Check the data folder: free space, certificate, and permissions of its secrets."""

import shutil
import ssl
import stat
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from chamberlain.app.clock_and_ids import local_now
from chamberlain.app.data_folder import DataFolder
from chamberlain.app.doctor import store
from chamberlain.app.doctor.checks import judge_certificate, judge_keys, judge_overlaps, judge_space, look
from chamberlain.app.doctor.database import Opened
from chamberlain.app.doctor.store import telling
from chamberlain.app.listeners import PortTaken, bind
from chamberlain.core.health import HealthCheck, fault, healthy, warning
from chamberlain.database.clock import decision_time
from chamberlain.database.transactions import Transaction
from chamberlain.embedded.identity.errors import IdentityUnreachable
from chamberlain.embedded.identity.signing_keys import sealing_keys
from chamberlain.secrets.keyring import KeysUnusable, load_keyring
from chamberlain.settings import Settings


def look_at_folder(settings: Settings) -> Sequence[HealthCheck]:
    """Nothing is made where there is none."""
    folder = DataFolder(settings.data_dir)
    try:
        free = shutil.disk_usage(folder.path).free
    except FileNotFoundError:
        return [healthy("data folder", f"There is no {folder.path} yet. The first start makes it.")]
    except OSError as error:
        seen = f"{folder.path} cannot be looked at ({error.strerror})."
        return [fault("data folder", seen, "Run this as who runs the service, or name its --data-dir.")]
    return [judge_space(str(folder.path), free), *_secrets(folder), *_certificate(folder.authority)]


def _secrets(folder: DataFolder) -> Sequence[HealthCheck]:
    try:
        files = [folder.path / "example-users.json", *folder.path.glob("*.secret")]
        open_files = [file for file in files if file.exists() and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]
    except OSError as error:
        seen = f"Files in {folder.path} cannot be looked at ({error.strerror})."
        return [fault("data folder", seen, "Run this as who runs the service.")]
    return [
        warning("data folder", f"Others than its owner can use {file}, which holds secrets.", f"chmod 600 {file}")
        for file in open_files
    ]


def _certificate(authority: Path) -> Sequence[HealthCheck]:
    if not authority.exists():
        return ()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cafile=authority)
    except OSError:
        # Of this class are the faults of certificates, too.
        seen = f"{authority} cannot be read, or is no certificate."
        return [fault("certificate", seen, "Restart the service, which writes a new one.")]
    ends = [ssl.cert_time_to_seconds(str(each["notAfter"])) for each in context.get_ca_certs()]
    return [judge_certificate(datetime.fromtimestamp(end, UTC), local_now()) for end in ends]


async def look_at_keys(opened: Opened) -> Sequence[HealthCheck]:
    """The keys file, and the keys that the database needs."""
    path = opened.settings.keys_file
    known: frozenset[str] = frozenset()
    found: list[HealthCheck] = []
    try:
        # Reading it would make it where there is none.
        if path.exists():
            known = frozenset(load_keyring(path).keys)
            found += _permissions(opened)
    except KeysUnusable as error:
        found.append(fault("keys", "The keys file cannot be used.", str(error)))
    except OSError as error:
        cure = "Run this as who runs the service."
        found.append(fault("keys", f"{path} cannot be looked at ({error.strerror}).", cure))

    async def ours(tx: Transaction) -> Sequence[HealthCheck]:
        used = await store.sealing_keys(tx) | await _theirs(opened)
        if not known and not used:
            return [healthy("keys", f"There is no {path} yet, and nothing is sealed. The first start makes it.")]
        return [
            judge_keys(known, used, file=str(path)),
            judge_overlaps(await store.overlaps(tx), await decision_time(tx)),
        ]

    try:
        return [*found, *await look("keys", opened.worker, ours)]
    except IdentityUnreachable as error:
        return [*found, fault("keys", str(error), "Run `chamberlain doctor` again.")]


def _permissions(opened: Opened) -> Sequence[HealthCheck]:
    path = opened.settings.keys_file
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO) == 0:
        return ()
    return [warning("keys", f"Others than its owner can use {path} (mode {mode:o}).", f"chmod 600 {path}")]


async def _theirs(opened: Opened) -> frozenset[str]:
    """Return the key ids of the embedded identity platform. Raises IdentityUnreachable."""
    if opened.application is None:
        return frozenset()
    with telling():
        return frozenset(await sealing_keys(opened.application.pool))


# Asks the service at an address for its failed checks, one sentence each. None when no service of this kind answers.
AskService = Callable[[str], Awaitable[Sequence[str] | None]]


@dataclass(frozen=True, slots=True)
class Listeners:
    """Return the finding, and whether a service like ours answers."""

    checkups: tuple[HealthCheck, ...]
    are_ours: bool


async def look_at_listeners(settings: Settings, ask: AskService) -> Listeners:
    """Check the service by its health, or else its ports."""
    ports = (settings.port, settings.tls_port) if settings.embedded_identity else (settings.port,)
    where = f"{settings.host} port {' and '.join(map(str, ports))}"
    wrong = await ask(_address(settings))
    if wrong is not None:
        checkups = [
            fault("service", f"It answers, and a check of /health/ready fails: {each}", "See the lines below.")
            for each in wrong
        ]
        return Listeners(
            tuple(checkups) or (healthy("service", f"It answers on {where}, and is ready."),), are_ours=True
        )
    try:
        for port in ports:
            bind(settings.host, port).close()
    except PortTaken as error:
        return Listeners(
            (fault("service", "It does not answer, and could not be started.", str(error)),), are_ours=False
        )
    return Listeners((healthy("service", f"It does not run: nothing listens on {where}."),), are_ours=False)


def _address(settings: Settings) -> str:
    """Where it is found on this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104 - it is asked, not bound.
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


# Cloud machines read secrets there. RFC 3927 defines the network; cloud providers share the address by convention.
_METADATA = ip_address("169.254.169.254")
_HERE = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


def look_at_settings(settings: Settings) -> Sequence[HealthCheck]:
    """Each that is doubtful; one line when none is."""
    found = [*_identity(settings), *_addresses(settings), *_webhooks(settings), *_proxies(settings), *_mail(settings)]
    return found or [healthy("settings", "None of them is doubtful.")]


def _identity(settings: Settings) -> Iterator[HealthCheck]:
    if settings.listens_on_loopback or not settings.embedded_identity:
        return
    seen = f"{settings.host} can be reached from other machines, and the embedded identity platform is for evaluation."
    if settings.allow_embedded_identity:
        yield warning(
            "settings", seen, "Register the organisation's own issuer, and listen on loopback behind a proxy."
        )
    else:
        cure = "The service does not start so: listen on 127.0.0.1, or set CHAMBERLAIN_EMBEDDED_IDENTITY=false."
        yield fault("settings", seen, cure)


def _addresses(settings: Settings) -> Iterator[HealthCheck]:
    if settings.metrics_port in {settings.port, settings.tls_port}:
        seen = f"CHAMBERLAIN_METRICS_PORT is {settings.metrics_port}, which the service listens on itself."
        yield fault("settings", seen, "Choose another one.")
    for name, url in (
        ("CHAMBERLAIN_BASE_URL", settings.base_url),
        ("CHAMBERLAIN_INSIDERS_BASE_URL", settings.insiders_base_url),
        ("CHAMBERLAIN_GRAPH_URL", settings.graph_url),
    ):
        if urlsplit(url).scheme == "http" and not _is_loopback(urlsplit(url).hostname or ""):
            cure = "Put a proxy with TLS before it, and name its address with https."
            yield warning("settings", f"{name} is {url}: tokens cross a network in the clear.", cure)


def _webhooks(settings: Settings) -> Iterator[HealthCheck]:
    if settings.webhook_allow_http:
        cure = "Take CHAMBERLAIN_WEBHOOK_ALLOW_HTTP away when every receiver has https."
        yield warning("settings", "Webhooks may be called without https: others can read their payloads.", cure)
    for network in settings.allowed_networks:
        inside = any(network.overlaps(each) for each in _HERE if each.version == network.version)
        if inside or (_METADATA.version == network.version and _METADATA in network):
            seen = f"CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS has {network}: webhooks can reach this machine."
            yield warning("settings", seen, "Name the networks of the receivers alone.")


def _proxies(settings: Settings) -> Iterator[HealthCheck]:
    for network in settings.proxies:
        if network.prefixlen == 0:
            seen = f"CHAMBERLAIN_TRUSTED_PROXIES has {network}: each caller can choose the client address."
            yield warning("settings", seen, "Name the addresses of your reverse proxies only.")


def _mail(settings: Settings) -> Iterator[HealthCheck]:
    if settings.smtp_url is None:
        seen = "CHAMBERLAIN_SMTP_URL is not set: no e-mail reports waiting approvals or expiring guests."
        yield warning("settings", seen, "Name a mail server, or tell approvers and owners in another way.")
        return
    if "starttls=never" in settings.smtp_url.get_secret_value():
        cure = "Use starttls=required, or smtps."
        yield warning("settings", "CHAMBERLAIN_SMTP_URL says starttls=never: mails and its password can be read.", cure)
    if settings.smtp_sender.rstrip(">").endswith("@localhost"):
        seen = f"CHAMBERLAIN_SMTP_SENDER is {settings.smtp_sender}, which most mail servers refuse."
        yield warning("settings", seen, "Name an address of the organisation.")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
