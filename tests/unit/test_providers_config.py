"""``providers.toml``: what is read, what is refused, and that keys stay out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.errors import InvalidInputError, MismatchError, NotFoundError
from gateways.models.config import FILE, Providers, load_providers, reach_of
from gateways.models.http.build import build_chat, build_embedder
from gateways.models.meter import Meter

FULL = """
[[chat]]
kind = "openai"
base_url = "http://127.0.0.1:8080/v1"
small = "little"
prices = { little = { input = 0.05, output = 1 } }

[[chat]]
kind = "anthropic"
base_url = "https://api.anthropic.com"
small = "s"
large = "l"
api_key_env = "CHAT_KEY"
reaches = "own"
timeout = 5

[embeddings]
base_url = "https://models.example/v1"
model = "bge"
dimension = 8

[[judge]]
kind = "jev"
base_url = "https://judge.example"
model = "jev-latest"
api_key_env = "JUDGE_KEY"

[managed]
base_url = "https://memory.example"
namespace = "team"
"""
KEYS = {"CHAT_KEY": "k1", "JUDGE_KEY": "k2"}
CHAT = '[[chat]]\nkind = "openai"\nbase_url = "http://localhost:1/v1"\nsmall = "s"\n'


def load(folder: Path, text: str, environ: dict[str, str] | None = None) -> Providers:
    """Write the file and read it."""
    (folder / FILE).write_text(text)
    return load_providers(folder, environ or {})


def test_without_a_file_nothing_is_configured(tmp_path: Path) -> None:
    """Offline is the default."""
    assert load_providers(tmp_path, {}) == Providers()


def test_everything_is_read(tmp_path: Path) -> None:
    """All sections, with what each defaults to and how far each reaches."""
    providers = load(tmp_path, FULL, KEYS)
    assert [(chat.kind, chat.reach, chat.timeout) for chat in providers.chat] == [
        ("openai", "own", 60.0),
        ("anthropic", "own", 5.0),
    ]
    assert providers.chat[0].prices["little"].output == 1.0
    assert providers.embeddings is not None
    assert (providers.embeddings.reach, providers.embeddings.dimension) == ("partner", 8)
    assert (providers.judge[0].timeout, providers.judge[0].reach) == (10.0, "partner")
    assert providers.managed is not None
    assert providers.managed.namespace == "team"


async def test_entries_become_providers(tmp_path: Path) -> None:
    """Each kind of chat and the embedder are built under their names."""
    providers = load(tmp_path, FULL, KEYS)
    chats = [build_chat(entry, Meter(), KEYS) for entry in providers.chat]
    assert [chat.name for chat in chats] == ["openai:little", "anthropic:s"]
    for chat in chats:
        await chat.close()
    embedder = build_embedder(providers, KEYS)
    assert embedder is not None
    assert (embedder.model, embedder.dimension) == ("openai:bge", 8)
    embedder.close()
    assert build_embedder(Providers(), {}) is None


@pytest.mark.parametrize(
    "text",
    [
        "[[chat]",
        CHAT + 'api_key = "sk-1"\n',
        CHAT + 'api_key_env = "sk-not-a-name"\n',
        CHAT + 'reaches = "local"\n',
        CHAT + "timeout = 0\n",
        CHAT + 'timeout = "60"\n',
        CHAT.replace("openai", "other"),
        CHAT.replace("http:", "ftp:"),
        CHAT.replace('small = "s"', 'small = ""'),
        '[chats]\nkind = "openai"\n',
        '[embeddings]\nbase_url = "http://localhost"\n',
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, text: str) -> None:
    """Unknown fields, wrong types and values are one clear error, which repeats no key."""
    with pytest.raises(InvalidInputError, match=FILE) as caught:
        load(tmp_path, text)
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("environ", [{}, {"CHAT_KEY": " ", "JUDGE_KEY": "k"}])
def test_a_variable_that_is_not_set_is_named(tmp_path: Path, environ: dict[str, str]) -> None:
    """A configured key that is missing is told before anything is called."""
    with pytest.raises(MismatchError, match="CHAT_KEY"):
        load(tmp_path, FULL, environ)


def test_another_file_can_be_named(tmp_path: Path) -> None:
    """The environment's file goes before the directory's, and must be there."""
    other = tmp_path / "other.toml"
    other.write_text(CHAT)
    assert len(load_providers(tmp_path, {"UMBRIEL_PROVIDERS": str(other)}).chat) == 1
    with pytest.raises(NotFoundError, match=r"none\.toml"):
        load_providers(tmp_path, {"UMBRIEL_PROVIDERS": str(tmp_path / "none.toml")})


@pytest.mark.parametrize(
    "url,reach",
    [
        ("http://localhost:1/v1", "own"),
        ("http://127.0.0.9", "own"),
        ("http://[::1]:8080/v1", "own"),
        ("http://10.1.2.3", "own"),
        ("https://192.168.0.4/v1", "own"),
        ("https://api.openai.com/v1", "partner"),
        ("https://8.8.8.8/v1", "partner"),
        ("https://127.0.0.1.example.com", "partner"),
        ("https://localhost.example.com", "partner"),
        ("http://127.0.0.1@example.com", "partner"),
        ("http://[bad", "partner"),
    ],
)
def test_an_address_says_how_far_it_reaches(url: str, reach: str) -> None:
    """Only loopback and private addresses are one's own without being declared so."""
    assert reach_of(url) == reach
