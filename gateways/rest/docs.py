"""The page about the API: made of the OpenAPI document once, without scripts and without anything from elsewhere."""

from __future__ import annotations

import json
from html import escape
from typing import Any

__all__ = ["CONTENT_POLICY", "details", "page", "shell", "shown"]

#: The page loads nothing and runs nothing.
CONTENT_POLICY = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1f;background:#fff}
h2{margin-top:2.5rem;border-bottom:1px solid #ccc}details{margin:.4rem 0;border:1px solid #ddd;border-radius:6px}
summary{cursor:pointer;padding:.5rem .8rem}summary b{display:inline-block;width:4.5rem}
details>div{padding:0 .8rem .8rem}
code,pre{font:14px/1.4 ui-monospace,monospace}pre{background:#f4f4f6;padding:.8rem;overflow:auto;border-radius:6px}
table{border-collapse:collapse}td,th{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top}
@media(prefers-color-scheme:dark){body{color:#e4e4e9;background:#17171b}pre{background:#222228}details,h2{border-color:#444}}
"""
Described = dict[str, Any]


def page(document: Described) -> str:
    """Return the page of a document."""
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault(operation["tags"][0], []).append(_operation(path, method, operation))
    groups = "".join(f"<h2>{escape(tag)}</h2>{''.join(of)}" for tag, of in by_tag.items())
    types = "".join(
        details(escape(name), shown(schema)) for name, schema in sorted(document["components"]["schemas"].items())
    )
    return shell(
        document["info"],
        '<p>The whole as OpenAPI 3.1: <a href="/schema/openapi.json">/schema/openapi.json</a>; events and NATS: '
        f'<a href="/docs/events">/docs/events</a></p>{groups}<h2>types</h2>{types}',
    )


def shell(info: Described, content: str) -> str:
    """Return a page of its own: what ``info`` of a document says, and then the content."""
    about = "".join(f"<p>{escape(part)}</p>" for part in info["description"].split("\n\n"))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>{about}{content}</body></html>"
    )


def _operation(path: str, method: str, operation: Described) -> str:
    title = f"<b>{escape(method.upper())}</b> <code>{escape(path)}</code> {escape(operation['summary'])}"
    parts = [f"<p>{escape(operation.get('description', ''))}</p>", _parameters(operation.get("parameters", []))]
    if "requestBody" in operation:
        said = operation["requestBody"]["content"]["application/json"]
        parts.append(f"<p>Body: {_type(said['schema'])}</p>{shown(said['example'])}")
    for status, reply in operation["responses"].items():
        if "$ref" not in reply:
            kinds = ", ".join(f"<code>{kind}</code> {_type(one['schema'])}" for kind, one in reply["content"].items())
            parts.append(f"<p>{status}: {escape(reply['description'])} {kinds}</p>")
    errors = [status for status, reply in operation["responses"].items() if "$ref" in reply]
    parts.append(f"<p>Errors: {', '.join(errors) or 'none'}</p>")
    return details(title, "".join(parts))


def _parameters(parameters: list[Described]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(one['name'])}</code></td><td>{one['in']}{', required' if one['required'] else ''}</td>"
        f"<td>{_type(one['schema'])}</td><td>{escape(one.get('description', ''))}</td></tr>"
        for one in parameters
    )
    return f"<table>{rows}</table>" if rows else ""


def _type(schema: Described) -> str:
    if "$ref" in schema:
        return f"<code>{escape(schema['$ref'].rsplit('/', 1)[1])}</code>"
    kinds = schema.get("enum") or [schema.get("type") or "any"]
    return f"<code>{escape(' | '.join(map(str, kinds)))}</code>"


def shown(value: object) -> str:
    """Return a value as JSON to be read."""
    return f"<pre>{escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>"


def details(title: str, content: str) -> str:
    """Return what opens under a title; both are markup already."""
    return f"<details><summary>{title}</summary><div>{content}</div></details>"
