"""What the value of a setting may be: how it is checked, and what is expected of it in words."""

import re
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr
from pydantic_core import PydanticCustomError

from chamberlain.database.address import ADDRESS, wanted_instead

# The kind of a fault that says itself what was expected.
SAID: Final = "said"


@dataclass(frozen=True, slots=True)
class Expected:
    """What a value must be, as the end of the sentence "expected ..."."""

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


def _mail_sender(value: str) -> str:
    address = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.:\[\]-]+"
    if re.fullmatch(rf"[^<>@]+<{address}>|{address}", value) is None or not value.isprintable():
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
    # RFC 6750, 2.1: what a token may be written with.
    if re.fullmatch(r"[A-Za-z0-9._~+/-]+=*", value.get_secret_value()) is None:
        raise ValueError
    return value


def _networks(value: str) -> str:
    return ",".join(str(ip_network(each.strip())) for each in value.split(",") if each.strip())


def _path(value: Path) -> Path:
    return value.expanduser().absolute()


Host = Annotated[str, AfterValidator(_host), Expected("an IP address or a host name, such as 127.0.0.1")]
Url = Annotated[str, AfterValidator(_url), Expected("an address such as https://chamberlain.example.org")]
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
Days = Annotated[int, Field(ge=1, le=36_500), Expected("a number of days from 1 to 36500")]
# An idempotency key names its request for seven days; and a reader of events may be away for a week.
Retention = Annotated[int, Field(ge=7, le=36_500), Expected("a number of days from 7 to 36500")]
Count = Annotated[int, Field(ge=1, le=100_000), Expected("a whole number from 1 to 100000")]
# Fewer would leave no room for a proxy and its health checks.
Connections = Annotated[int, Field(ge=16, le=100_000), Expected("a whole number from 16 to 100000")]
ConnectionsPerAddress = Annotated[
    Annotated[int, Field(ge=1, le=100_000)] | None,
    Expected("a whole number from 1 to 100000"),
]
