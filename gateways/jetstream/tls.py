"""TLS of the embedded server: its files, its part of the configuration, and how its own service trusts it."""

from __future__ import annotations

import ipaddress
import json
import ssl
from pathlib import Path

import msgspec

from domain.errors import InvalidInputError, UnavailableError

__all__ = ["Tls", "check_bind", "is_loopback"]


class Tls(msgspec.Struct, frozen=True):
    """A certificate chain, its key, and the authority that callers are to trust (the chain itself when None)."""

    certificate: Path
    key: Path
    authority: Path | None = None

    def check(self) -> None:
        """Raise InvalidInputError unless the files are there and belong together."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key)
            if self.authority is not None:
                context.load_verify_locations(self.authority)
        except (OSError, ssl.SSLError) as error:
            raise InvalidInputError(
                "the TLS files cannot be used",
                expected="a PEM certificate, the key it was made for, and PEM authorities",
                found=f"{self.certificate}, {self.key}: {error}",
            ) from error

    def config(self) -> str:
        """Return the ``tls`` block of a NATS configuration."""
        authority = f"  ca_file: {json.dumps(str(self.authority))}\n" if self.authority else ""
        return (
            "tls {\n"
            f"  cert_file: {json.dumps(str(self.certificate))}\n"
            f"  key_file: {json.dumps(str(self.key))}\n"
            f"{authority}"
            "  timeout: 5\n"
            "}\n"
        )

    def own_context(self) -> ssl.SSLContext:
        """Return what the service itself connects with, over loopback: this very certificate, whatever its name."""
        return pinned(self.certificate)


def pinned(certificate: Path) -> ssl.SSLContext:
    """Return a context that trusts exactly the certificates of one file, under any host name."""
    try:
        context = ssl.create_default_context(cafile=str(certificate))
    except (OSError, ssl.SSLError) as error:
        raise UnavailableError(
            "a certificate cannot be read", expected="a PEM file", found=f"{certificate}: {error}"
        ) from error
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches an address; names other than localhost are taken as public."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def check_bind(address: str, tls: Tls | None) -> None:
    """Raise InvalidInputError when others could reach the server and read along."""
    if tls is None and not is_loopback(address):
        raise InvalidInputError(
            "the server would be reachable from outside without TLS",
            expected="--tls-cert and --tls-key, or a loopback address",
            found=f"--bind {address}",
        )
