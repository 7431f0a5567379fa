"""The command that prints the documents of the service, as it would serve them."""

from __future__ import annotations

from typing import Annotated

import typer

from gateways.cli import output

__all__ = ["schema"]


def schema(
    *,
    asyncapi: Annotated[bool, typer.Option("--asyncapi", help="The AsyncAPI 3 document: NATS and events.")] = False,
    openapi: Annotated[bool, typer.Option("--openapi", help="The OpenAPI 3.1 document: HTTP.")] = False,
    events: Annotated[
        bool, typer.Option("--events", help="The catalogue of events; a table, or with --json all.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON on stdout, for scripts; documents always are.")
    ] = False,
) -> None:
    """Print what the service speaks: the documents of NATS and HTTP, or the events that it records."""
    if asyncapi + openapi + events != 1:
        raise typer.BadParameter("name one of --asyncapi, --openapi and --events")
    if asyncapi:
        from gateways.asyncapi.document import document

        output.write_json(document())
    elif openapi:
        from gateways.rest.openapi import document as over_http

        output.write_json(over_http())
    else:
        _events(as_json=json)


def _events(*, as_json: bool) -> None:
    from gateways.asyncapi.catalogue import catalogue

    kinds = catalogue()
    if as_json:
        output.write_json(kinds)
        return
    rows = [(kind.topic, kind.schema, "yes" if kind.encrypted else "no", kind.title, kind.recorded) for kind in kinds]
    output.table("Events", ("topic", "schema", "encrypted", "text", "recorded"), rows)
