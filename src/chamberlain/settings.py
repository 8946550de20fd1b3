# SPDX-License-Identifier: Apache-2.0
"""The table of settings, documented in docs/reference/settings.md.

Only this file reads the environment.
"""

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from chamberlain.database.address import ADDRESS, wanted_instead

# Kind of a validation error with a message of its own.
SAID: Final = "said"


@dataclass(frozen=True, slots=True)
class Expected:
    """The end of the sentence "expected ..."."""

    text: str


def _host(value: str) -> str:
    try:
        return str(ip_address(value))
    except ValueError:
        if re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", value) is None or value.replace(".", "").isdigit():
            raise
        return value


def _url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment or "@" in value:
        raise ValueError
    _ = parts.port  # Reading it raises ValueError when it is no port.
    return value.rstrip("/")


def _origin(value: str) -> str:
    if urlsplit(_url(value)).path:
        raise ValueError
    return value.rstrip("/").lower()


def _prefix(value: str) -> str:
    if re.fullmatch(r"[a-z][a-z0-9+.-]*://[^\s?#]*[^\s?#/]/*", value) is None:
        raise ValueError
    return value.rstrip("/")


def _database_address(value: SecretStr) -> SecretStr:
    instead = wanted_instead(value.get_secret_value())
    if instead is not None:
        raise PydanticCustomError(SAID, "{instead}", {"instead": instead})
    return value


def _smtp_address(value: SecretStr) -> SecretStr:
    parts = urlsplit(value.get_secret_value())
    signs_in = bool(parts.username and parts.password)
    known = {"", "starttls=required", "starttls=never"} if parts.scheme == "smtp" else {""}
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname or parts.port == 0 or parts.query not in known:
        raise ValueError
    if parts.path not in {"", "/"} or parts.fragment or signs_in != ("@" in parts.netloc):
        raise ValueError
    return value


_ADDRESS = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.:\[\]-]+"


def _mail_sender(value: str) -> str:
    if re.fullmatch(rf"[^<>@]+<{_ADDRESS}>|{_ADDRESS}", value) is None or not value.isprintable():
        raise ValueError
    return value


def _mail_address(value: str) -> str:
    if re.fullmatch(_ADDRESS, value) is None:
        raise ValueError
    return value


def _link(value: str) -> str:
    if value.count("{requestId}") != 1 or re.search(r"[\s{}]", re.sub(r"{(requestId|tenantId)}", "", value)):
        raise ValueError
    if re.match(r"https?://[^/?#{}]+([/?#]|$)", value) is None:
        raise ValueError
    return value


def _outages(value: str) -> str:
    found = re.fullmatch(r"(\d{1,5}(?:\.\d{1,3})?)/(\d{1,5}(?:\.\d{1,3})?)", value)
    if found is None or not 0 < float(found[1]) < float(found[2]):
        raise ValueError
    return value


def _bearer_token(value: SecretStr) -> SecretStr:
    # Characters of a bearer token (RFC 6750, 2.1).
    if re.fullmatch(r"[A-Za-z0-9._~+/-]+=*", value.get_secret_value()) is None:
        raise ValueError
    return value


def _networks(value: str) -> str:
    return ",".join(str(ip_network(each.strip())) for each in value.split(",") if each.strip())


def _hosts(value: str) -> str:
    # A host or an IPv6 address in brackets, each with or without a port; or the folder of a local socket.
    hosts = [each.strip() for each in value.split(",") if each.strip()]
    place = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?|/[^,\s]+")
    if any(place.fullmatch(each) is None for each in hosts):
        raise ValueError
    return ",".join(each if each.startswith("/") else each.lower() for each in hosts)


def _path(value: Path) -> Path:
    return value.expanduser().absolute()


Host = Annotated[str, AfterValidator(_host), Expected("an IP address or a host name, such as 127.0.0.1")]
Url = Annotated[str, AfterValidator(_url), Expected("an address such as https://chamberlain.example.org")]
Origin = Annotated[
    str, AfterValidator(_origin), Expected("an address without a path, such as https://chamberlain.example.org")
]
Prefix = Annotated[str, AfterValidator(_prefix), Expected("an absolute prefix such as https://api.example.org")]
AbsolutePath = Annotated[Path, AfterValidator(_path), Expected("a path")]
TrueOrFalse = Annotated[bool, Expected("true or false")]
DatabaseAddress = Annotated[
    Annotated[SecretStr, AfterValidator(_database_address)] | None,
    Expected(ADDRESS),
]
SmtpAddress = Annotated[
    Annotated[SecretStr, AfterValidator(_smtp_address)] | None,
    Expected("an address such as smtp://user:password@host:587?starttls=required, or smtps://user:password@host"),
]
MailSender = Annotated[
    str, AfterValidator(_mail_sender), Expected("a mail address, alone or as Chamberlain <chamberlain@example.org>")
]
ClientIdentity = Annotated[
    Annotated[str, Field(max_length=512, pattern=r"^[\x21-\x7e]+$")] | None,
    Expected("the id of a client, as the OpenID provider has it"),
]
ClientSecret = Annotated[SecretStr | None, Expected("the secret of a client, as the OpenID provider has it")]
ReplyAddress = Annotated[
    Annotated[str, AfterValidator(_mail_address)] | None, Expected("a mail address such as approvals@example.org")
]
BearerToken = Annotated[
    Annotated[SecretStr, AfterValidator(_bearer_token)] | None,
    Expected("an access token, as its issuer gives it"),
]
Link = Annotated[
    Annotated[str, AfterValidator(_link)] | None,
    Expected("an address such as https://portal.example.org/requests/{requestId}"),
]
# The port behind it is taken too, so 65535 is out of reach.
Port = Annotated[int, Field(ge=1, le=65534), Expected("a whole number from 1 to 65534")]
MetricsPort = Annotated[
    Annotated[int, Field(ge=1, le=65535)] | None,
    Expected("a whole number from 1 to 65535"),
]
Seconds = Annotated[
    Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] | None,
    Expected("a number of seconds from 0 to 86400"),
]
Wait = Annotated[
    float, Field(ge=0, le=3600, allow_inf_nan=False), Expected("a number of seconds from 0 to 3600, 0 for none")
]
# One in one would mean that nothing ever works.
OneIn = Annotated[
    Annotated[int, Field(ge=2, le=100_000)] | None,
    Expected("a whole number from 2 to 100000"),
]
Outages = Annotated[
    Annotated[str, AfterValidator(_outages)] | None,
    Expected("seconds out of seconds, such as 5/30, the first number smaller than the second"),
]
Networks = Annotated[
    Annotated[str, AfterValidator(_networks)] | None,
    Expected("networks as CIDR blocks, joined by commas, such as 10.20.0.0/16,fd12:3456::/32"),
]
Proxies = Annotated[
    Annotated[str, AfterValidator(_networks)] | None,
    Expected("addresses and networks as CIDR blocks, joined by commas, such as 10.20.0.7,fd12:3456::/32"),
]
Hosts = Annotated[
    Annotated[str, AfterValidator(_hosts)] | None,
    Expected("hosts, with or without a port, joined by commas, such as directory.example.org:5432,10.20.0.7"),
]
Days = Annotated[int, Field(ge=1, le=36_500), Expected("a number of days from 1 to 36500")]
# An idempotency key names its request for seven days; and a reader of events may be away for a week.
Retention = Annotated[int, Field(ge=7, le=36_500), Expected("a number of days from 7 to 36500")]
Count = Annotated[int, Field(ge=1, le=100_000), Expected("a whole number from 1 to 100000")]
# Fewer would leave no room for a proxy and its health checks.
Connections = Annotated[int, Field(ge=16, le=100_000), Expected("a whole number from 16 to 100000")]
OptionalCount = Annotated[
    Annotated[int, Field(ge=1, le=100_000)] | None,
    Expected("a whole number from 1 to 100000"),
]


PREFIX = "CHAMBERLAIN_"

# Variables of the tests, which steer them and never the service.
_TEST_PREFIX = "CHAMBERLAIN_TEST_"


class SettingsInvalid(Exception):
    """The settings are invalid.

    `faults` has one sentence for each reason, the message has all of them.
    """

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


def _default_data_dir() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/chamberlain")
    # The XDG Base Directory specification: a relative path is to be ignored.
    share = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (share if share.is_absolute() else Path.home() / ".local" / "share") / "chamberlain"


def _default_config_dir() -> Path:
    folder = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return (folder if folder.is_absolute() else Path.home() / ".config") / "chamberlain"


def _default_base_url(data: Mapping[str, object]) -> str:
    return f"http://{_reachable(str(data['host']), here='127.0.0.1')}:{data['port']}"


def _default_console_url(data: Mapping[str, object]) -> str:
    parts = urlsplit(str(data["base_url"]))
    return f"{parts.scheme}://{parts.netloc}".lower()


def _is_sample(data: Mapping[str, object]) -> bool:
    """Return whether only this machine can reach the embedded parts."""
    return data["database_url"] is None and data["embedded_identity"] is True and _is_loopback(str(data["host"]))


def _default_sender(data: Mapping[str, object]) -> str:
    host = urlsplit(str(data["base_url"])).hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return f"Chamberlain <chamberlain@{host}>"
    return "Chamberlain <chamberlain@localhost>"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reachable(host: str, *, here: str) -> str:
    """Return the host as a client writes it.

    It is `here` when the listener is on all addresses, which do not name the host.
    """
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return here
    return f"[{address}]" if address.version == 6 else str(address)


class Settings(BaseSettings):
    """All settings, each with a default that works on a laptop.

    Build it with `read_settings`.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    host: Host = "127.0.0.1"
    port: Port = 8365
    data_dir: AbsolutePath = Field(default_factory=_default_data_dir)

    database_url: DatabaseAddress = None
    database_worker_url: DatabaseAddress = None
    database_owner_url: DatabaseAddress = None
    database_direct_url: DatabaseAddress = Field(default_factory=lambda data: data["database_url"])
    database_prepared_statements: TrueOrFalse = True
    database_start_timeout: Wait = 60
    keys_file: AbsolutePath = Field(default_factory=lambda data: data["data_dir"] / "keys")

    base_url: Url = Field(default_factory=_default_base_url)
    insiders_base_url: Url = Field(default_factory=lambda data: data["base_url"])
    graph_url: Url = Field(default_factory=lambda data: f"{data['base_url']}/graph")
    scope_prefix: Prefix = "https://api.estate.example"
    insiders_scope_prefix: Prefix = Field(default_factory=lambda data: data["scope_prefix"])

    # The console: its address for browsers, and its client at the tenants' own OpenID providers.
    console_url: Origin = Field(default_factory=_default_console_url)
    console_client_id: ClientIdentity = None
    console_client_secret: ClientSecret = None

    trusted_proxies: Proxies = None
    directory: Annotated[Literal["embedded"], Expected("embedded")] = "embedded"
    connection_hosts: Hosts = None
    connection_files: Annotated[AbsolutePath | None, Expected("a folder")] = None
    connection_calls_per_second: OptionalCount = None
    metrics_port: MetricsPort = None
    embedded_identity: TrueOrFalse = True
    allow_embedded_identity: TrueOrFalse = False
    postgres_bin: Annotated[AbsolutePath | None, Expected("the folder of PostgreSQL's programs")] = None
    postgres_user: Annotated[str | None, Expected("the name of a user of this machine")] = None
    tenant_running_jobs: Count = 500
    max_connections: Connections = 3000
    max_connections_per_address: OptionalCount = None
    failed_request_days: Days = 30
    retention_requests: Retention = 400
    retention_events: Retention = 400
    webhook_allowed_networks: Networks = None
    webhook_allow_http: TrueOrFalse = False

    # Notices by mail: without the first there are none.
    smtp_url: SmtpAddress = None
    smtp_sender: MailSender = Field(default_factory=_default_sender)
    notice_link: Link = None
    # Without it approval mails do not invite replies.
    reply_address: ReplyAddress = None

    # Writes of the embedded directory over HTTP, for tests.
    directory_writable: TrueOrFalse = Field(default_factory=_is_sample)
    # Answers of the embedded directory with the properties of Microsoft Graph only.
    graph_strict: TrueOrFalse = False

    # Faults on purpose, of the embedded directory alone.
    fault_visibility_delay: Seconds = None
    fault_throttle: OneIn = None
    fault_not_found_after_create: Seconds = None
    fault_unavailable: Outages = None
    # The surface that sets further ones over HTTP.
    fault_surface: TrueOrFalse = False

    # Settings of the command line: server, identity and saved sign-ins.
    server: Annotated[Url | None, Expected("an address such as https://chamberlain.example.org")] = None
    context: Annotated[str | None, Expected("the name of a context, such as production")] = None
    token: BearerToken = None
    config_dir: AbsolutePath = Field(default_factory=_default_config_dir)

    @property
    def allowed_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """Return the networks besides public ones that webhooks may call."""
        return tuple(ip_network(each) for each in (self.webhook_allowed_networks or "").split(",") if each)

    @property
    def permitted_hosts(self) -> frozenset[str]:
        """Return the hosts that connections to directories may have."""
        return frozenset(each for each in (self.connection_hosts or "").split(",") if each)

    @property
    def proxies(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The reverse proxies whose word about the client address counts."""
        return tuple(ip_network(each) for each in (self.trusted_proxies or "").split(",") if each)

    @property
    def tls_port(self) -> int:
        """Return the port of the TLS listener.

        Some sign-in libraries require TLS.
        """
        return self.port + 1

    @property
    def tls_url(self) -> str:
        """Return the base URL of the TLS listener.

        The issuer of the embedded identity platform begins with it.
        """
        host = "localhost" if self.listens_on_loopback else _reachable(self.host, here="localhost")
        return f"https://{host}:{self.tls_port}"

    @property
    def listens_on_loopback(self) -> bool:
        """Return whether only this machine can reach the listeners."""
        return _is_loopback(self.host)


# Settings that hold a password or a token; each may be given as the path of a file that holds it.
_DATABASES = ("database_url", "database_worker_url", "database_owner_url", "database_direct_url")
SECRETS = (*_DATABASES, "smtp_url", "console_client_secret", "token")


def variable(name: str) -> str:
    """The name of the environment variable of a setting."""
    return PREFIX + name.upper()


def read_settings(**options: object) -> Settings:
    """Read the settings. Raises SettingsInvalid with all faults.

    `options` of the command line override the environment.
    """
    secrets, faults = _read_secret_files()
    faults += _unknown_names()
    faults += _half_a_database({name for name in _DATABASES if name in secrets or os.environ.get(variable(name))})
    try:
        settings = Settings.model_validate({**secrets, **options})
    except ValidationError as error:
        raise SettingsInvalid((*faults, *_bad_values(error))) from None  # The cause would show secret values.
    if faults:
        raise SettingsInvalid(tuple(faults))
    return settings


@dataclass(frozen=True, slots=True)
class TracesWanted:
    """OpenTelemetry's variables: whether traces are sent, and the protocol.

    The SDK reads all others itself.
    """

    are_sent: bool
    protocol: str


def read_traces() -> TracesWanted:
    """Read the settings of traces.

    Traces are sent if a receiver is named, unless another variable disables them.
    """
    receiver = _of_traces("ENDPOINT")
    is_off = (
        os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or os.environ.get("OTEL_TRACES_EXPORTER") == "none"
    )
    return TracesWanted(are_sent=bool(receiver) and not is_off, protocol=_of_traces("PROTOCOL"))


def _of_traces(name: str) -> str:
    return os.environ.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}") or os.environ.get(f"OTEL_EXPORTER_OTLP_{name}") or ""


def _read_secret_files() -> tuple[dict[str, str], list[str]]:
    secrets: dict[str, str] = {}
    faults: list[str] = []
    for name in SECRETS:
        file_name = f"{variable(name)}_FILE"
        path = os.environ.get(file_name)
        if not path:
            continue
        if os.environ.get(variable(name)):
            faults.append(f"{variable(name)} and {file_name} are both set: keep one of them.")
        try:
            secrets[name] = Path(path).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            faults.append(f'{file_name} is "{path}", which cannot be read ({reason}): expected a readable text file.')
    return secrets, faults


def _unknown_names() -> list[str]:
    known = [variable(name) for name in Settings.model_fields] + [f"{variable(name)}_FILE" for name in SECRETS]
    faults = []
    for name in sorted(os.environ):
        if not name.upper().startswith(PREFIX) or name.startswith(_TEST_PREFIX) or name in known:
            continue
        cure = _nearest(name.upper(), known)
        faults.append(f"{name} is not a setting: {cure}")
    return faults


def _nearest(name: str, known: list[str]) -> str:
    # Compared without the prefix, which alone would make any two of them alike.
    bare = [each.removeprefix(PREFIX) for each in known]
    nearest = difflib.get_close_matches(name.removeprefix(PREFIX), bare, n=1)
    return f"did you mean {PREFIX}{nearest[0]}?" if nearest else "docs/reference/settings.md lists all settings."


def _half_a_database(given: set[str]) -> list[str]:
    """Report missing roles of an outside database.

    It needs two; a stray address must not start the embedded one unnoticed.
    """
    needed = ("database_url", "database_worker_url")
    # Only migrations need the owner's address.
    if not given - {"database_owner_url"}:
        return []
    return [
        f"{variable(name)} is missing: an outside database needs it beside {variable(min(given))}; "
        "without any address the embedded database is used."
        for name in needed
        if name not in given
    ]


def _bad_values(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_context=False):
        name = str(fault["loc"][0])
        if fault["type"] == "default_factory_not_called":
            continue  # It follows from another value, which is a fault of its own.
        field = Settings.model_fields.get(name)
        if field is None:
            yield f"{variable(name)} is not a setting."
        elif name in SECRETS:
            expected = fault["msg"] if fault["type"] == SAID else _expected(field)
            yield f"{variable(name)} has a value that is not shown here: expected {expected}."
        else:
            yield f'{variable(name)} is "{fault["input"]}": expected {_expected(field)}.'


def _expected(field: FieldInfo) -> str:
    return next(each.text for each in reversed(field.metadata) if isinstance(each, Expected))
