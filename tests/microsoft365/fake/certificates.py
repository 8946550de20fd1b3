# SPDX-License-Identifier: Apache-2.0
"""Certificates of applications in the fake."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Certificate:
    """A private key and its certificate, both in PEM, and the public key for `FakeMicrosoft365.add_app`."""

    private_key: str
    certificate: str
    public_key: bytes


def new_certificate() -> Certificate:
    """Return a new key with a certificate of its own."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "chamberlain")])
    at = datetime(2026, 1, 1, tzinfo=UTC)
    number = x509.random_serial_number()
    built = x509.CertificateBuilder(name, name, key.public_key(), number, at, at + timedelta(days=999))
    private_key = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificate(
        private_key.decode(),
        built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode(),
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
    )
