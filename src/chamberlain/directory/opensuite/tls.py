# SPDX-License-Identifier: Apache-2.0
"""Certificate authorities of an LDAP server, and why its certificate is refused.

libldap does not say it: with GnuTLS, a refused certificate looks like a server that is away. Without its file
ldap.conf, which is a package of its own, it trusts no authority.
"""

import socket
import ssl
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

_PORTS: Final = {"ldap": 389, "ldaps": 636}
# The authorities of Debian and Alpine, and of Fedora.
_BUNDLES: Final = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
# The request StartTLS (RFC 4511, 4.14.1) as message 1.
_START_TLS: Final = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037"
# Longer than any response to it.
_MOST_BYTES: Final = 4096
# Seconds until a server that does not answer is given up.
_TIMEOUT: Final = 5.0


def system_authorities() -> str | None:
    """Return the file with the certificate authorities of the system."""
    known = ssl.get_default_verify_paths().cafile
    return known or next((each for each in _BUNDLES if Path(each).exists()), None)


def certificate_problem(url: str, authorities: str | None) -> str | None:
    """Return why the certificate of a server is refused, or None.

    It is None also if the server does not answer. The call blocks.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    try:
        context = ssl.create_default_context(cafile=authorities)
        with socket.create_connection((host, port), _TIMEOUT) as connection:
            if parts.scheme == "ldap":
                connection.sendall(_START_TLS)
                connection.recv(_MOST_BYTES)
            with context.wrap_socket(connection, server_hostname=host):
                return None
    except ssl.SSLCertVerificationError as error:
        return f"The certificate is refused: {error.verify_message}"
    except OSError:
        return None
