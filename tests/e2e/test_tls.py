"""Beyond loopback: never without TLS; with it, only over it, and only to who trusts the right authority."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import nats
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from domain.errors import InvalidInputError
from domain.grants import Grant, Principal
from gateways import bootstrap
from gateways.jetstream.principals import Principals
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.server import NatsServer, find_binary
from gateways.jetstream.tls import check_bind, is_loopback
from tests.nats_fixtures import flushed
from umbriel import InvalidInputError as ClientInvalidInputError
from umbriel import RefusedError, Umbriel, UmbrielError

DEPLOYED = Path(__file__).parents[2] / "deploy" / "nats.conf"


class Authority:
    """A certificate authority of a test, and the files of a server it signed."""

    def __init__(self, directory: Path, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self.file = directory / f"{name}.pem"
        certificate = self._sign(self._name, self._key, authority=True)
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        key = ec.generate_private_key(ec.SECP256R1())
        self.certificate, self.key = directory / f"{name}-server.pem", directory / f"{name}-server.key"
        signed = self._sign(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")]), key, authority=False)
        self.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        self.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )

    def _sign(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, authority: bool) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("memory.example")]
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if not authority:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_a_server_with_tls(tmp_path: Path) -> None:
    """Bound to every address with TLS: who trusts the authority is served; others, and plain text, are not."""
    right, wrong = Authority(tmp_path, "right"), Authority(tmp_path, "wrong")
    data = tmp_path / "data"
    tls = bootstrap.tls_of(right.certificate, right.key, right.file)
    async with bootstrap.running(data, bind="0.0.0.0", tls=tls) as runtime:  # noqa: S104 -- what is tested
        password = Secrets(data / "secrets").password("local")
        plain = runtime.url.replace("tls:", "nats:")
        for url in (runtime.url, plain):
            async with await Umbriel.connect(url, principal="local", password=password, tls_ca=right.file) as client:
                assert (await client.remember("Sealed twice", key="sealed", wait=True)).memory.id
        for trusted in (wrong.file, None):
            with pytest.raises(UmbrielError):
                await Umbriel.connect(runtime.url, principal="local", password=password, tls_ca=trusted)
        with pytest.raises(RefusedError):
            await Umbriel.connect(runtime.url, principal="local", password="wrong", tls_ca=right.file)
        with socket.create_connection(("127.0.0.1", int(runtime.url.rsplit(":", 1)[1])), timeout=5) as raw:
            raw.recv(4096)
            raw.sendall(f'CONNECT {{"user":"local","pass":"{password}","verbose":true}}\r\nPING\r\n'.encode())
            assert b"PONG" not in raw.recv(4096)


def serving(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``umbriel serve`` on what it must refuse."""
    command = [sys.executable, "-m", "gateways.cli", "serve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "memory.example"])  # noqa: S104 -- refused
def test_a_public_bind_is_refused(tmp_path: Path, address: str) -> None:
    """Without TLS no server listens where others reach it: one line that says what is missing, and exit code 2."""
    done = serving("--data", str(tmp_path / "data"), "--bind", address)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--tls-cert" in done.stderr
    assert done.stderr.count("\n") == 1


def test_tls_files_that_are_none(tmp_path: Path) -> None:
    """Half a pair, a key of another certificate or a file that is not there is told before anything starts."""
    one, other = Authority(tmp_path, "one"), Authority(tmp_path, "other")
    data = str(tmp_path / "data")
    for arguments in (
        ("--tls-cert", str(one.certificate)),
        ("--tls-cert", str(one.certificate), "--tls-key", str(other.key)),
        ("--tls-cert", str(tmp_path / "absent"), "--tls-key", str(one.key)),
    ):
        done = serving("--data", data, *arguments)
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr


def test_what_loopback_is() -> None:
    """Names other than localhost are taken as public: what they mean is not ours to know."""
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "localhost.example", "10.1.1.1", "127.0.0.1.example")))  # noqa: S104
    check_bind("127.0.0.1", None)
    with pytest.raises(InvalidInputError):
        check_bind("", None)


async def test_an_authority_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file of authorities is told as such, before any connection."""
    with pytest.raises(ClientInvalidInputError):
        await Umbriel.connect("tls://127.0.0.1:1", principal="local", password="p", tls_ca=tmp_path / "absent")


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[tuple[str, Path, str]]:
    """nats-server on deploy/nats.conf, with the block that ``umbriel principal config`` prints in it."""
    data = tmp_path / "data"
    ann = Principal("ann", "agent", (Grant("p", "write"),))
    _, secret = Principals(Secrets(data / "secrets")).add(ann)
    port, config = free_port(), tmp_path / "nats.conf"
    (tmp_path / "authorization.conf").write_text(bootstrap.authorization(data))
    text = DEPLOYED.read_text("utf-8").partition("authorization {")[0] + "include ./authorization.conf\n"
    text = text.replace("127.0.0.1:4222", f"127.0.0.1:{port}").replace('"nats-store"', f'"{tmp_path / "store"}"')
    config.write_text(text)
    process = subprocess.Popen([str(find_binary()), "-c", str(config)], env={**os.environ}, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield f"nats://127.0.0.1:{port}", data, secret
    process.terminate()
    process.wait(timeout=10)


async def test_a_nats_server_of_ones_own(own_server: tuple[str, Path, str]) -> None:
    """With the printed block its principals are served; a revoked one is refused before the server is told."""
    url, data, secret = own_server
    async with bootstrap.running(data, nats=url):
        person_secret = Secrets(data / "secrets").password("local")
        async with (
            await Umbriel.connect(url, principal="local", password=person_secret) as person,
            await Umbriel.connect(url, principal="ann", password=secret, profile="p") as ann,
        ):
            assert (await ann.remember("x is y")).memory.author == "ann"
            assert not (await person.principal_revoke("ann")).applied
            with pytest.raises(RefusedError):
                await ann.remember("x is z")


async def test_a_reload_keeps_what_is_connected(tmp_path: Path) -> None:
    """A signal, not a restart: the process stays, others stay connected, and a broken configuration is an error."""
    server = NatsServer(tmp_path / "data")
    await server.start()
    try:
        pid, lost = server.pid, []

        async def on_lost() -> None:
            lost.append(1)

        kept = await nats.connect(
            server.url, user="answer", password=server.password("answer"), disconnected_cb=on_lost
        )
        principals = Principals(server.secrets)
        _, secret = principals.add(Principal("late", "agent"))
        await server.reload(principals.active(), principals.hashes(), principals.nkeys())
        late = await nats.connect(server.url, user="late", password=secret, inbox_prefix=b"_INBOX_late")
        inbox = await late.subscribe("_INBOX_late.x")
        await flushed(late)
        # The connection that answers may reach the new inbox without having been opened anew.
        await kept.publish("_INBOX_late.x", b"hello")
        assert (await inbox.next_msg(timeout=5)).data == b"hello"
        assert (server.pid, lost) == (pid, [])
        await late.close()
        await kept.close()
    finally:
        await server.stop()
    assert msgspec.json.decode((tmp_path / "data" / "secrets" / "principals.json").read_bytes())["version"] == 1
