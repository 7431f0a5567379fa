"""One service, and every surface in front of it: each runner sends the same fields its own way and tells the error.

An outcome is the error as the surface gave it; a `Reply` is what it answered. Nothing here knows what is right.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, cast

import msgspec
import nats.aio.client
import structlog
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.types import TextContent

from gateways.cli.app import run
from gateways.cli.errors import EXIT_CODES
from gateways.mcp import Connection, build, every_tool
from gateways.surfaces import COMMANDS
from tests.rest_service import RestService, as_http
from umbriel import Message, Umbriel, UmbrielError
from umbriel._json import encoded

__all__ = ["RUNNERS", "Outcome", "Surfaces", "quiet"]

AGENT = "local-agent"
TOOLS = every_tool()


class Outcome(msgspec.Struct, frozen=True):
    """What came back: an error's code, words, expected and found; a reply has no code. ``text`` is all of it."""

    code: str
    text: str
    message: str = ""
    expected: str = ""
    found: str = ""

    @property
    def line(self) -> str:
        """The error as one line, as the command line prints it."""
        detail = ", ".join(f"{name} {one}" for name, one in (("expected", self.expected), ("found", self.found)) if one)
        return " ".join((f"{self.message} ({detail})" if detail else self.message).split())


Fields = Mapping[str, Any]
Runner = Callable[["Surfaces", str, str, Fields], Outcome]


class Surfaces:
    """Asks one service over each of its surfaces as one principal, its own agent unless another is named."""

    def __init__(self, rest: RestService, scratch: Path, principal: str = AGENT, password: str = "") -> None:
        self.rest = rest
        self.scratch = scratch
        self.principal = principal
        self.password = password or (rest.data / "secrets" / f"{principal}.password").read_text().strip()
        self._clients: dict[str, Umbriel] = {}
        self._nats: nats.aio.client.Client | None = None
        self._servers: dict[str, Server[Any]] = {}

    async def client(self, profile: str) -> Umbriel:
        """Return a client on the service's loop; all profiles share one connection."""
        first = next(iter(self._clients.values()), None) or await Umbriel.connect(
            self.rest.runtime.url, principal=self.principal, password=self.password, profile=profile
        )
        return self._clients.setdefault(profile, first.for_profile(profile))

    def server(self, profile: str) -> Server[Any]:
        """Return the MCP server of a profile, with every tool."""
        if profile not in self._servers:
            self._servers[profile] = build(Connection(lambda: self.client(profile)), TOOLS)
        return self._servers[profile]

    async def nats(self) -> nats.aio.client.Client:
        """Return a plain connection to the NATS server."""
        if self._nats is None:
            self._nats = await nats.connect(
                self.rest.runtime.url,
                user=self.principal,
                password=self.password,
                inbox_prefix=f"_INBOX_{self.principal}".encode(),
            )
        return self._nats

    async def close(self) -> None:
        """Close what is open."""
        if self._nats is not None:
            await self._nats.close()
        for client in self._clients.values():
            await client.close()


def _raised(error: UmbrielError) -> Outcome:
    return Outcome(error.code, str(error), error.message, error.expected, error.found)


def over_nats(surfaces: Surfaces, verb: str, profile: str, fields: Fields) -> Outcome:
    """Send the bytes of the request, as any NATS client can."""
    body = json.dumps(fields).encode()

    async def ask() -> Outcome:
        connection = await surfaces.nats()
        answer = await connection.request(f"umbriel.api.{surfaces.principal}.{profile}.{verb}", body, timeout=20)
        said = json.loads(answer.data)
        if not (answer.headers or {}).get("Umbriel-Error"):
            return Outcome("", answer.data.decode())
        return Outcome(
            said["code"], answer.data.decode(), said["message"], said.get("expected", ""), said.get("found", "")
        )

    return surfaces.rest.on_loop(ask())


def over_http(surfaces: Surfaces, verb: str, profile: str, fields: Fields) -> Outcome:
    """Ask under the verb's path; the body is the same JSON."""
    method, path, query, sent = as_http(verb, profile, fields)
    with surfaces.rest.speaking(surfaces.principal) as client:
        body = None if sent is None else json.dumps(sent).encode()
        headers = {} if sent is None else {"Content-Type": "application/json"}
        response = client.request(method, path, params=query, content=body, headers=headers)
    said = response.json()
    if response.is_success:
        return Outcome("", response.text)
    return Outcome(said["code"], response.text, said["message"], said["expected"], said["found"])


def over_python(surfaces: Surfaces, verb: str, profile: str, fields: Fields) -> Outcome:
    """Call the client's method with the fields as its parameters."""

    async def ask() -> Outcome:
        client = await surfaces.client(profile)
        given: dict[str, Any] = dict(fields)
        if verb == "ingest":
            given["messages"] = [Message(**one) for one in given["messages"]]
        try:
            reply = await getattr(client, verb)(**given)
        except UmbrielError as error:
            return _raised(error)
        return Outcome("", encoded(reply).decode())

    return surfaces.rest.on_loop(ask())


def over_mcp(surfaces: Surfaces, verb: str, profile: str, fields: Fields) -> Outcome:
    """Call the verb's tool with the protocol's own client, in memory."""

    async def ask() -> Outcome:
        async with Client(surfaces.server(profile)) as session:
            return _of_tool(await session.call_tool(_tool(verb), dict(fields)))

    return surfaces.rest.on_loop(ask())


def _tool(verb: str) -> str:
    return next(one.name for one in TOOLS if one.verb == verb)


def _of_tool(result: Any) -> Outcome:
    text = cast("TextContent", result.content[0]).text
    if not result.is_error:
        return Outcome("", text)
    code, _, message = text.partition("\n")[0].partition(": ")
    details = dict(line.split(": ", 1) for line in text.splitlines() if line.startswith(("expected: ", "found: ")))
    return Outcome(code, text, message, details.get("expected", ""), details.get("found", ""))


def over_command_line(surfaces: Surfaces, verb: str, profile: str, fields: Fields) -> Outcome:
    """Run the verb's command in this process, on the service's NATS port."""
    place = ["--nats", surfaces.rest.runtime.url, "--principal", surfaces.principal]
    argv = _argv(surfaces, verb, fields, ["--profile", profile, "--json", *place])
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with _environment(UMBRIEL_PASSWORD=surfaces.password), redirect_stdout(out), redirect_stderr(err):
        try:
            run(argv)
        except SystemExit as ended:
            code = int(ended.code or 0)
    if not code:
        return Outcome("", out.getvalue())
    assert out.getvalue() == ""
    named = next((name for name, exit_code in EXIT_CODES.items() if exit_code == code), "internal")
    return Outcome(named, err.getvalue(), err.getvalue().removeprefix("umbriel: ").strip())


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what the service logs in this process out of what commands print."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(io.StringIO()))
    try:
        yield
    finally:
        structlog.reset_defaults()


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _argv(surfaces: Surfaces, verb: str, fields: Fields, common: list[str]) -> list[str]:
    """Return the words of a command, put together from the table that says how it calls the fields."""
    said = COMMANDS[verb]
    argv, arguments = [*said.words, *common], list[str]()
    for name, value in fields.items():
        option = said.spelt.get(name, f"--{name.replace('_', '-')}")
        if name == "messages":
            arguments.append(str(_file(surfaces, value)))
        elif not option.startswith("--"):
            arguments.append(str(value))
        elif isinstance(value, bool):
            argv += [option] if value else []
        else:
            for one in value if isinstance(value, list) else [value]:
                argv.append(f"{option}={json.dumps(one) if isinstance(one, dict) else one}")
    return [*argv, "--", *arguments] if arguments else argv


def _file(surfaces: Surfaces, messages: Any) -> Path:
    path = surfaces.scratch / f"{uuid.uuid4().hex}.json"
    path.write_text(json.dumps(messages), "utf-8")
    return path


RUNNERS: dict[str, Runner] = {
    "nats": over_nats,
    "rest": over_http,
    "python": over_python,
    "mcp": over_mcp,
    "cli": over_command_line,
}
