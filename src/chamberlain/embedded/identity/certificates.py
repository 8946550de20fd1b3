# SPDX-License-Identifier: Apache-2.0
"""Temporary certificate authority and its server certificate.

Both are valid for addresses of this machine only. Sign-in libraries require https. Each start creates a new authority,
which is limited to this machine by name constraints, so it is safe to trust. Its private key is never written, and
discarded after signing.
"""

import os
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# Some systems accept at most 825 days from an authority that the user added.
_VALID_FOR = timedelta(days=824)
# Clocks of virtual machines often differ a little.
_VALID_BEFORE = timedelta(hours=1)

_Extension = tuple[x509.ExtensionType, bool]


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """TLS context and the authority that clients must trust."""

    context: ssl.SSLContext
    authority_pem: str


def make_server_certificate(folder: Path, now: datetime) -> ServerCertificate:
    """Create an authority and a certificate for localhost, 127.0.0.1 and ::1.

    The TLS library loads the server's private key from a file only. The file is in this folder, readable only for its
    owner, and removed before this returns.
    """
    authority_key, server_key = generate_private_key(SECP256R1()), generate_private_key(SECP256R1())
    authority = _authority(authority_key, now)
    server = _server(server_key, authority, authority_key, now)
    authority_pem = authority.public_bytes(Encoding.PEM)
    chain = server.public_bytes(Encoding.PEM) + authority_pem
    return ServerCertificate(_context(folder, server_key, chain), authority_pem.decode("ascii"))


def _authority(key: EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name = _name("Chamberlain throw-away authority of this machine")
    constraints = x509.NameConstraints(
        permitted_subtrees=[
            x509.DNSName("localhost"),
            x509.IPAddress(IPv4Network("127.0.0.0/8")),
            x509.IPAddress(IPv6Network("::1/128")),
        ],
        excluded_subtrees=None,
    )
    extensions: Sequence[_Extension] = (
        (x509.BasicConstraints(ca=True, path_length=0), True),
        (_key_usage(signs_certificates=True), True),
        (constraints, True),
    )
    builder = _builder(name, name, key, now)
    return _signed(builder, extensions, key, key)


def _server(
    key: EllipticCurvePrivateKey, authority: x509.Certificate, authority_key: EllipticCurvePrivateKey, now: datetime
) -> x509.Certificate:
    addresses = x509.SubjectAlternativeName(
        [
            x509.DNSName("localhost"),
            x509.IPAddress(IPv4Address("127.0.0.1")),
            x509.IPAddress(IPv6Address("::1")),
        ]
    )
    extensions: Sequence[_Extension] = (
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (_key_usage(signs_certificates=False), True),
        (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
        (addresses, False),
    )
    builder = _builder(_name("localhost"), authority.subject, key, now)
    return _signed(builder, extensions, key, authority_key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID_BEFORE)
        .not_valid_after(now + _VALID_FOR)
    )


def _signed(
    builder: x509.CertificateBuilder,
    extensions: Sequence[_Extension],
    key: EllipticCurvePrivateKey,
    authority_key: EllipticCurvePrivateKey,
) -> x509.Certificate:
    identifiers: Sequence[_Extension] = (
        (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), False),
    )
    for extension, critical in (*extensions, *identifiers):
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(authority_key, SHA256())


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _context(folder: Path, key: EllipticCurvePrivateKey, chain: bytes) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # mkstemp creates a file that only its owner can read.
    descriptor, name = tempfile.mkstemp(dir=folder, prefix="tls-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + chain)
        context.load_cert_chain(name)
    finally:
        Path(name).unlink()
    return context
