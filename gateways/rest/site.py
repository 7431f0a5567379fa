"""The web inspector's files as they lie in the package: a page, its styles and its modules, nothing from elsewhere.

The page may load these files and ask this service, and nothing else: no inline script or style, no other host, no
frame around it, and no text that becomes markup (Trusted Types).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import msgspec
from litestar import Request, Response, get

from gateways.rest.problems import no_such_path, problem

__all__ = ["SITE_POLICY", "site_handlers"]

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_PAGE = "index.html"
SITE_POLICY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-cache",
}

AnyRequest = Request[Any, Any, Any]


class _File(msgspec.Struct, frozen=True):
    body: bytes
    type: str
    tag: str


def site_handlers() -> Sequence[Any]:
    """Return what answers under ``/`` and ``/inspector/NAME``; names are looked up among the files, never opened."""
    found = _files()

    @get("/")
    async def page(request: AnyRequest) -> Response[Any]:
        return _answer(request, found.get(_PAGE))

    @get("/inspector/{name:str}")
    async def file(request: AnyRequest) -> Response[Any]:
        return _answer(request, found.get(request.path_params["name"]))

    return page, file


def _files() -> dict[str, _File]:
    return {
        one.name: _read(one.read_bytes(), one.name)
        for one in files("gateways.inspector").joinpath("static").iterdir()
        if _suffix(one.name) in _TYPES
    }


def _read(body: bytes, name: str) -> _File:
    return _File(body, _TYPES[_suffix(name)], f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _suffix(name: str) -> str:
    return "." + name.rpartition(".")[2]


def _answer(request: AnyRequest, file: _File | None) -> Response[Any]:
    if file is None:
        return problem(no_such_path(request.scope["path"]))
    headers = {**SITE_POLICY, "ETag": file.tag}
    if request.headers.get("if-none-match") == file.tag:
        return Response(b"", status_code=304, headers=headers, media_type=file.type)
    return Response(file.body, media_type=file.type, headers=headers)
