"""The page about the NATS API and the events: made once, without scripts and without anything from elsewhere."""

from __future__ import annotations

import re
from functools import cache
from html import escape

from gateways.asyncapi.catalogue import EventKind, catalogue
from gateways.asyncapi.document import document
from gateways.described import Schema
from gateways.rest.docs import details, shell, shown

__all__ = ["page"]

_CODE = re.compile(r"`+([^`]+)`+")


@cache
def page() -> str:
    """Return the page."""
    said, kinds = document(), catalogue()
    categories = sorted({kind.category for kind in kinds})
    events = "".join(
        f'<h3 id="{escape(category)}">{escape(category)}</h3>'
        + "".join(_event(kind) for kind in kinds if kind.category == category)
        for category in categories
    )
    links = " · ".join(f'<a href="#{escape(one)}">{escape(one)}</a>' for one in categories)
    verbs = "".join(_verb(said, name) for name in said["operations"] if name in said["channels"])
    types = "".join(details(escape(name), shown(schema)) for name, schema in sorted(_types(said).items()))
    return shell(
        said["info"],
        '<p>The whole as AsyncAPI 3: <a href="/schema/asyncapi.json">/schema/asyncapi.json</a>; over HTTP: '
        '<a href="/docs">/docs</a></p>'
        f"<h2>events</h2><p>{links}</p>{events}<h2>verbs</h2>{verbs}<h2>types</h2>{types}",
    )


def _event(kind: EventKind) -> str:
    stored = f"encrypted under {kind.under}" if kind.encrypted else "in the clear"
    quiet = "; in a feed only when its category is asked for" if kind.quiet else ""
    body = kind.body["$ref"].rsplit("/", 1)[1]
    return details(
        f"<code>{escape(kind.topic)}</code> {_text(kind.title)}",
        f"<p>{_text(kind.description)}</p><p>Recorded {_text(kind.recorded)}; schema {kind.schema}; {escape(stored)}"
        f"{quiet}.</p><p>Data: <code>{escape(body)}</code></p>{''.join(map(shown, kind.examples))}",
    )


def _verb(said: Schema, name: str) -> str:
    operation, channel = said["operations"][name], said["channels"][name]
    request = said["components"]["messages"][f"{name}-request"]
    reply = said["components"]["messages"][f"{name}-reply"]
    return details(
        f"<code>{escape(channel['address'])}</code> {escape(operation['summary'])}",
        "".join(f"<p>{_text(part)}</p>" for part in operation["description"].split("\n\n"))
        + f"<p>Request <code>{escape(request['title'])}</code>, reply <code>{escape(reply['title'])}</code></p>"
        + shown(request["examples"][0]["payload"]),
    )


def _types(said: Schema) -> dict[str, Schema]:
    found: dict[str, Schema] = said["components"]["schemas"]
    return found


def _text(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(text))
