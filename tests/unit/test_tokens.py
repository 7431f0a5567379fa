"""Bearer tokens: shown once, kept as hashes, gone with their principal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from domain.errors import DamagedError, InvalidInputError, NotFoundError
from domain.grants import Principal
from gateways.jetstream.principals import Principals
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.tokens import Tokens

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def test_a_token_speaks_for_its_principal_and_is_kept_as_a_hash(tmp_path: Path) -> None:
    """It is found again after a restart; the file holds neither it nor its secret part."""
    token, text = Tokens(Secrets(tmp_path)).add("shop", now=NOW, label="web shop")
    again = Tokens(Secrets(tmp_path))
    assert again.principal(text, NOW) == "shop"
    assert again.of("shop") == [token]
    stored = (tmp_path / "tokens.json").read_text()
    assert token.id in stored
    assert text.rsplit("_", 1)[1] not in stored
    assert (tmp_path / "tokens.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "shape",
    [
        "",
        "umb_{id}_{cut}",
        "umb_{id}_{secret}A",
        "UMB_{id}_{secret}",
        "umb_{ID}_{secret}",
        "{id}_{secret}",
        "umb_000000000000_{secret}",
        "umb_{id}_",
        "umb_{id}",
        "umb__",
        "\udcff",
    ],
    ids=ascii,
)
def test_nothing_else_is_a_token(tmp_path: Path, shape: str) -> None:
    """A token that is cut, lengthened, spelt otherwise or made up speaks for nobody."""
    tokens = Tokens(Secrets(tmp_path))
    token, text = tokens.add("shop", now=NOW)
    while not any(map(str.isalpha, token.id)):
        token, text = tokens.add("shop", now=NOW)
    secret = text.split("_", 2)[2]
    tried = shape.format(id=token.id, ID=token.id.upper(), secret=secret, cut=secret[:-1])
    assert tokens.principal(tried, NOW) is None
    assert tokens.principal(text, NOW) == "shop"


def test_a_token_ends_when_it_says(tmp_path: Path) -> None:
    """It counts before its end and not from it on; what has ended makes room for others."""
    tokens = Tokens(Secrets(tmp_path))
    end = NOW + timedelta(days=1)
    _, text = tokens.add("shop", now=NOW, expires_at=end)
    assert tokens.principal(text, end - timedelta(microseconds=1)) == "shop"
    assert tokens.principal(text, end) is None
    tokens.add("shop", now=end)
    assert len(tokens.of("shop")) == 1


def test_one_token_of_several_is_revoked(tmp_path: Path) -> None:
    """The others still count; a second revocation finds none."""
    tokens = Tokens(Secrets(tmp_path))
    first, text = tokens.add("shop", now=NOW)
    _, other = tokens.add("shop", now=NOW)
    tokens.revoke(first.id)
    assert (tokens.principal(text, NOW), tokens.principal(other, NOW)) == (None, "shop")
    with pytest.raises(NotFoundError):
        tokens.revoke(first.id)


def test_a_principal_has_a_bounded_number(tmp_path: Path) -> None:
    """A client that makes one for every call is told so; another principal is not in its way."""
    tokens = Tokens(Secrets(tmp_path))
    one, _ = tokens.add("shop", now=NOW)
    tokens._tokens |= {f"{n}": msgspec.structs.replace(one, id=f"{n}") for n in range(100)}
    with pytest.raises(InvalidInputError, match="too many tokens"):
        tokens.add("shop", now=NOW)
    tokens.add("other", now=NOW)


@pytest.mark.parametrize("end", ["revoke", "rotate"])
def test_tokens_go_with_what_proves_their_principal(tmp_path: Path, end: str) -> None:
    """A revoked or rotated principal has none any more; another keeps its own, the embedded ones too."""
    principals = Principals(Secrets(tmp_path))
    principals.add(Principal("shop", "agent"))
    _, text = principals.tokens.add("shop", now=NOW)
    _, other = principals.tokens.add("local", now=NOW)
    getattr(principals, end)("shop")
    assert principals.tokens.principal(text, NOW) is None
    assert Principals(Secrets(tmp_path)).tokens.principal(other, NOW) == "local"
    principals.rotate("local")
    assert principals.tokens.principal(other, NOW) is None


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    """Tokens that cannot be read are not taken for none."""
    Secrets(tmp_path).write("tokens.json", b'{"version": 1')
    with pytest.raises(DamagedError):
        Tokens(Secrets(tmp_path))
