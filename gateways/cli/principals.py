"""``umbriel principal``: who may speak, and what was granted to them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, cast

import typer

from gateways.cli import output
from gateways.cli.options import Data
from gateways.cli.session import Session, verb
from umbriel import GrantSpec, InvalidInputError, PrincipalInfo, PrincipalSecret, data_directory

__all__ = ["principal"]

principal = typer.Typer(help="Who may speak, and what is granted to them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The principal's name.")]
_COLUMNS = ("name", "type", "proves by", "tokens", "state", "grants")
Nkey = Annotated[str, typer.Option("--nkey", help="A public user nkey, U…, instead of a password.")]


@verb
async def add(
    session: Session,
    *,
    name: Name,
    type: Annotated[str, typer.Option("--type", help="agent or person.")] = "agent",
    grants: Annotated[
        list[str] | None,
        typer.Option("--grant", metavar="PROFILE:ACCESS[:CONTACT,…]", help="read, write or admin; repeat for several."),
    ] = None,
    nkey: Nkey = "",
) -> None:
    """Add a principal and show its password, this once."""
    if type not in ("agent", "person"):
        raise InvalidInputError("unknown type of principal", expected="agent or person", found=repr(type))
    kind = cast("Literal['person', 'agent']", type)
    reply = await session.client.principal_add(
        name, type=kind, grants=[grant_of(one) for one in grants or ()], nkey=nkey
    )
    session.show(reply, lambda: _show_secret(reply, "Added"))


def grant_of(text: str) -> GrantSpec:
    """Return the grant of ``PROFILE:ACCESS[:CONTACT,…]``; contacts may hold colons, but no commas."""
    profile, _, rest = text.partition(":")
    access, named, contacts = rest.partition(":")
    if access not in ("read", "write", "admin"):
        raise InvalidInputError("not a grant", expected="PROFILE:read|write|admin[:CONTACT,…]", found=repr(text[:80]))
    # A colon with nothing behind it names no contact; it must not be read as all of them.
    spec = contacts.split(",") if named else ["*"]
    return GrantSpec(profile=profile, access=cast("Literal['read', 'write', 'admin']", access), contacts=spec)


@verb
async def list_principals(session: Session) -> None:
    """List the principals, the revoked ones too."""
    reply = await session.client.principal_list()
    rows = [
        (one.name, one.type, one.credential, _tokens(one), "revoked" if one.revoked else "active", _grants(one))
        for one in reply.principals
    ]
    session.show(reply, lambda: output.table("Principals", _COLUMNS, rows))


@verb
async def revoke(session: Session, *, name: Name) -> None:
    """Take everything from a principal, for good."""
    reply = await session.client.principal_revoke(name)
    session.show(reply, lambda: _show_secret(reply, "Revoked"))


@verb
async def rotate(session: Session, *, name: Name, nkey: Nkey = "") -> None:
    """Replace a principal's password, or its nkey."""
    reply = await session.client.principal_rotate(name, nkey=nkey)
    session.show(reply, lambda: _show_secret(reply, "Rotated"))


@verb
async def token(
    session: Session,
    *,
    name: Name,
    label: Annotated[str, typer.Option("--label", help="What the token is for.")] = "",
    days: Annotated[int, typer.Option("--days", min=0, max=36_500, help="Days it counts; 0: until revoked.")] = 0,
) -> None:
    """Make a token with which a principal speaks over HTTP, and print it, this once."""
    expires_at = datetime.now(UTC) + timedelta(days=days) if days else None
    reply = await session.client.principal_token(name, label=label, expires_at=expires_at)
    # Alone on its line, for `TOKEN=$(umbriel principal token NAME)`.
    session.show(reply, lambda: output.write_text(reply.token))


@verb
async def revoke_token(
    session: Session, *, id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, from the list.")]
) -> None:
    """Take one token away; the principal keeps its others."""
    reply = await session.client.principal_token_revoke(id)
    session.show(reply, lambda: output.say(f"Revoked the token {reply.info.id} of {reply.principal}."))


def config(data: Data = None) -> None:
    """Print the authorization block for a NATS server of your own; its passwords are hashes."""
    from gateways import bootstrap

    typer.echo(bootstrap.authorization(data_directory(data)), nl=False)


def _tokens(info: PrincipalInfo) -> str:
    return " ".join(f"{one.id} ({one.label})" if one.label else one.id for one in info.tokens)


def _grants(info: PrincipalInfo) -> str:
    shown = []
    for one in info.grants:
        contacts = "" if one.contacts == ["*"] else ":" + ",".join(one.contacts)
        shown.append(f"{one.profile}:{one.access}{contacts}")
    return " ".join(shown) or "nothing"


def _show_secret(reply: PrincipalSecret, done: str) -> None:
    output.say(f"{done} {reply.principal.name} ({reply.principal.type}), granted {_grants(reply.principal)}.")
    if reply.secret:
        output.say(f"Its password, shown only now: {reply.secret}")
    if not reply.applied:
        output.say("Your NATS server must take it over: `umbriel principal config` prints the block to include.")


for _name, _command in {
    "add": add,
    "list": list_principals,
    "revoke": revoke,
    "rotate": rotate,
    "token": token,
    "revoke-token": revoke_token,
    "config": config,
}.items():
    principal.command(_name)(_command)
