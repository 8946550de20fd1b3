# SPDX-License-Identifier: Apache-2.0
"""The interface of python-ldap 3.4, as far as it is used. Pure.

python-ldap has no types, and is installed with the extra opensuite only. Its C parts need the headers of OpenLDAP.
"""

from collections.abc import Mapping
from typing import Any, Protocol


class Control(Protocol):
    """A control of a request or of a response."""

    controlType: str  # noqa: N815 - a name of python-ldap.
    criticality: bool


class RawControl:
    """A control with a value that python-ldap neither encodes nor decodes."""

    def __init__(self, control_type: str = "", value: bytes = b"", *, criticality: bool = False) -> None:
        self.controlType = control_type  # A name of python-ldap, as the methods below.
        self.criticality = criticality
        self.value = value

    def encodeControlValue(self) -> bytes:  # noqa: N802 - a name of python-ldap.
        """Return the encoded value."""
        return self.value

    def decodeControlValue(self, value: bytes) -> None:  # noqa: N802 - a name of python-ldap.
        """Keep the encoded value."""
        self.value = value


# A row of result4 with controls: name, values or referral, controls.
RawRow = tuple[str | None, Any, list[Control]]
# Kind, rows, message id, controls, name and value of an extended response.
RawResult = tuple[int, list[RawRow], int, list[Control], str | None, bytes | None]


class Handle(Protocol):
    """A connection object of python-ldap 3.4, as far as it is used."""

    def set_option(self, option: int, invalue: float | str) -> None: ...
    def start_tls_s(self) -> None: ...
    def simple_bind_s(self, who: str, cred: str) -> object: ...
    def unbind_s(self) -> None: ...
    def fileno(self) -> int: ...
    def abandon(self, msgid: int) -> None: ...

    def search_ext(
        self, base: str, scope: int, *, filterstr: str, attrlist: list[str] | None, serverctrls: list[Control] | None
    ) -> int: ...

    def add_ext(self, dn: str, modlist: list[tuple[str, list[bytes]]], serverctrls: list[Control] | None) -> int: ...

    def modify_ext(
        self, dn: str, modlist: list[tuple[int, str, list[bytes] | None]], serverctrls: list[Control] | None
    ) -> int: ...

    def delete_ext(self, dn: str, serverctrls: list[Control] | None) -> int: ...

    def result4(
        self,
        msgid: int,
        *,
        all: int,  # noqa: A002 - a name of python-ldap.
        timeout: float,
        add_ctrls: int,
        add_intermediates: int,
        resp_ctrl_classes: Mapping[str, type],
    ) -> RawResult: ...


class Library(Protocol):
    """The module `ldap` of python-ldap 3.4, as far as it is used."""

    LDAPError: type[Exception]
    PROTOCOL_ERROR: type[Exception]
    TIMEOUT: type[Exception]
    RES_ANY: int
    RES_SEARCH_ENTRY: int
    RES_SEARCH_REFERENCE: int
    RES_INTERMEDIATE: int
    OPT_REFERRALS: int
    OPT_NETWORK_TIMEOUT: int
    OPT_TIMEOUT: int
    OPT_X_KEEPALIVE_IDLE: int
    OPT_X_KEEPALIVE_INTERVAL: int
    OPT_X_KEEPALIVE_PROBES: int
    OPT_X_TLS_CACERTFILE: int
    OPT_X_TLS_REQUIRE_CERT: int
    OPT_X_TLS_DEMAND: int
    OPT_X_TLS_NEWCTX: int

    def get_option(self, option: int) -> str | None: ...
    def initialize(self, uri: str) -> Handle: ...
