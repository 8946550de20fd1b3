"""Settings that are understood, and that somebody should think about again."""

from collections.abc import Iterator, Sequence
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from chamberlain.core.checkups import Checkup, doubtful, faulty, well
from chamberlain.settings import Settings

# Cloud machines are told secrets there (RFC 3927 gives out the network; the address is the custom of all of them).
_METADATA = ip_address("169.254.169.254")
_HERE = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


def look_at_settings(settings: Settings) -> Sequence[Checkup]:
    """Each that is doubtful; one line when none is."""
    found = [*_identity(settings), *_addresses(settings), *_webhooks(settings), *_proxies(settings), *_mail(settings)]
    return found or [well("settings", "None of them is doubtful.")]


def _identity(settings: Settings) -> Iterator[Checkup]:
    if settings.listens_on_loopback or not settings.embedded_identity:
        return
    seen = f"{settings.host} can be reached from other machines, and the embedded identity platform is for evaluation."
    if settings.allow_embedded_identity:
        yield doubtful(
            "settings", seen, "Register the organisation's own issuer, and listen on loopback behind a proxy."
        )
    else:
        cure = "The service does not start so: listen on 127.0.0.1, or set CHAMBERLAIN_EMBEDDED_IDENTITY=false."
        yield faulty("settings", seen, cure)


def _addresses(settings: Settings) -> Iterator[Checkup]:
    if settings.metrics_port in {settings.port, settings.tls_port}:
        seen = f"CHAMBERLAIN_METRICS_PORT is {settings.metrics_port}, which the service listens on itself."
        yield faulty("settings", seen, "Choose another one.")
    for name, url in (
        ("CHAMBERLAIN_BASE_URL", settings.base_url),
        ("CHAMBERLAIN_INSIDERS_BASE_URL", settings.insiders_base_url),
        ("CHAMBERLAIN_GRAPH_URL", settings.graph_url),
    ):
        if urlsplit(url).scheme == "http" and not _is_loopback(urlsplit(url).hostname or ""):
            cure = "Put a proxy with TLS before it, and name its address with https."
            yield doubtful("settings", f"{name} is {url}: tokens cross a network in the clear.", cure)


def _webhooks(settings: Settings) -> Iterator[Checkup]:
    if settings.webhook_allow_http:
        cure = "Take CHAMBERLAIN_WEBHOOK_ALLOW_HTTP away when every receiver has https."
        yield doubtful("settings", "Webhooks may be called without https: what they are told can be read.", cure)
    for network in settings.allowed_networks:
        inside = any(network.overlaps(each) for each in _HERE if each.version == network.version)
        if inside or (_METADATA.version == network.version and _METADATA in network):
            seen = f"CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS has {network}: whoever sets webhooks can reach this machine."
            yield doubtful("settings", seen, "Name the networks of the receivers alone.")


def _proxies(settings: Settings) -> Iterator[Checkup]:
    for network in settings.proxies:
        if network.prefixlen == 0:
            seen = f"CHAMBERLAIN_TRUSTED_PROXIES has {network}: each caller can choose the client address."
            yield doubtful("settings", seen, "Name the addresses of your reverse proxies only.")


def _mail(settings: Settings) -> Iterator[Checkup]:
    if settings.smtp_url is None:
        seen = "CHAMBERLAIN_SMTP_URL is not set: nobody is told by mail that an approval waits, or guests have to go."
        yield doubtful("settings", seen, "Name a mail server, or tell approvers and owners in another way.")
        return
    if "starttls=never" in settings.smtp_url.get_secret_value():
        cure = "Use starttls=required, or smtps."
        yield doubtful(
            "settings", "CHAMBERLAIN_SMTP_URL says starttls=never: mails and its password can be read.", cure
        )
    if settings.smtp_sender.rstrip(">").endswith("@localhost"):
        seen = f"CHAMBERLAIN_SMTP_SENDER is {settings.smtp_sender}, which most mail servers refuse."
        yield doubtful("settings", seen, "Name an address of the organisation.")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
