"""Which providers run: ``providers.toml`` in the data directory, or the file that ``UMBRIEL_PROVIDERS`` names.

::

    [[chat]]
    kind = "openai"                    # or "anthropic"
    base_url = "http://127.0.0.1:8080/v1"
    small = "qwen3-8b"
    large = "qwen3-32b"                # small, where it is left out
    api_key_env = "LLM_KEY"            # the name of an environment variable, never a key
    reaches = "own"                    # or "partner"
    timeout = 60.0
    prices = { "qwen3-8b" = { input = 0.05, output = 0.20 } }   # per million tokens

    [embeddings]
    base_url = "http://127.0.0.1:8081/v1"
    model = "bge-m3"
    dimension = 1024

    [[judge]]
    kind = "jev"                       # or "decisions", "chat"
    base_url = "https://api.typesafe.ai/v1/systemone"
    model = "jev-latest"
    api_key_env = "JEV_KEY"

    [managed]
    base_url = "https://memory.example/accounts/1"
    namespace = "team"
    api_key_env = "MEMORY_KEY"

Without the file nothing is called over a network.
"""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from domain.errors import InvalidInputError, MismatchError, NotFoundError
from gateways.models.meter import Prices

__all__ = [
    "ENVIRONMENT",
    "FILE",
    "ChatEntry",
    "EmbeddingsEntry",
    "JudgeEntry",
    "ManagedEntry",
    "Providers",
    "api_key",
    "load_providers",
    "reach_of",
]

FILE = "providers.toml"
ENVIRONMENT = "UMBRIEL_PROVIDERS"

_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Url = Annotated[str, msgspec.Meta(pattern=r"^https?://[^/\s?#]+[^\s?#]*$")]
_Variable = Annotated[str, msgspec.Meta(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")]
_Seconds = Annotated[float, msgspec.Meta(gt=0, le=3_600)]
_Beyond = Literal["own", "partner"]
_KEYED = "a variable with the key in it"


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every provider has: where it is, the variable that holds its key, and how far what it is sent goes."""

    base_url: _Url
    api_key_env: _Variable = ""
    reaches: _Beyond | None = None
    timeout: _Seconds = 60.0

    @property
    def reach(self) -> _Beyond:
        """How far it reaches: as configured, else own for an address of this machine or network, else partner."""
        return self.reaches or reach_of(self.base_url)


class ChatEntry(_Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chat; prices are by model name."""

    kind: Literal["openai", "anthropic"]
    small: _Text
    large: str = ""
    prices: dict[str, Prices] = {}


class EmbeddingsEntry(_Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The embedder; 0 lets the server say its dimension."""

    model: _Text
    dimension: Annotated[int, msgspec.Meta(ge=0)] = 0
    max_chars: Annotated[int, msgspec.Meta(ge=64)] = 2_000
    overlap: Annotated[int, msgspec.Meta(ge=0)] = 200
    batch: Annotated[int, msgspec.Meta(ge=1, le=2_048)] = 64


class JudgeEntry(_Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A judge of one of the three kinds that speak HTTP."""

    kind: Literal["jev", "decisions", "chat"]
    model: _Text
    timeout: _Seconds = 10.0


class ManagedEntry(_Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A managed memory that profiles may be forwarded to."""

    namespace: _Text


class Providers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is configured, each list in order of preference."""

    chat: tuple[ChatEntry, ...] = ()
    embeddings: EmbeddingsEntry | None = None
    judge: tuple[JudgeEntry, ...] = ()
    managed: ManagedEntry | None = None

    def entries(self) -> Iterator[_Entry]:
        """Yield every provider."""
        yield from self.chat
        yield from self.judge
        yield from (one for one in (self.embeddings, self.managed) if one is not None)


def load_providers(data: Path, environ: Mapping[str, str] = os.environ) -> Providers:
    """Return what is configured for a data directory, nothing where there is no file.

    Raises InvalidInputError for a file that cannot be read as it must be, NotFoundError where ``UMBRIEL_PROVIDERS``
    names none, and MismatchError for a named variable that is not set.
    """
    named = environ.get(ENVIRONMENT, "")
    path = Path(named) if named else data / FILE
    if not path.is_file():
        if named:
            raise NotFoundError("no such file", expected=f"the file that {ENVIRONMENT} names", found=named)
        return Providers()
    providers = _decoded(path)
    for entry in providers.entries():
        api_key(entry.api_key_env, environ)
    return providers


def _decoded(path: Path) -> Providers:
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), Providers, strict=True)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path.name} is no TOML", expected="TOML in UTF-8", found=str(error)) from error
    except msgspec.ValidationError as error:
        raise InvalidInputError(
            f"{path.name} cannot be used", expected="the fields of a provider", found=str(error)
        ) from error


def api_key(variable: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the key that a variable holds, empty where none is named; raises MismatchError where it is not set."""
    if variable and not environ.get(variable, "").strip():
        raise MismatchError(f"the variable {variable} is not set", expected=_KEYED, found="nothing")
    return environ[variable].strip() if variable else ""


def reach_of(url: str) -> _Beyond:
    """Return ``own`` for localhost and loopback or private addresses, else ``partner``."""
    try:
        host = urlsplit(url).hostname or ""
        own = host == "localhost" or host.endswith(".localhost") or _is_private(host)
    except ValueError:
        own = False
    return "own" if own else "partner"


def _is_private(host: str) -> bool:
    address = ipaddress.ip_address(host)
    return address.is_loopback or address.is_private
