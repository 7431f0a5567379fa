"""A code of `umbriel inspect` changed for a token: the one thing that is asked without a token and changes something.

No cookie is set: a browser sends one by itself, a token only where the page that holds it says so. The body must be
JSON, which no form of another page can send, and what does not fit is counted with the requests without a token.
"""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Request, Response

from domain.errors import InvalidInputError, RefusedError
from gateways.rest.access import Access
from gateways.rest.answering import HEADERS
from gateways.rest.problems import HttpError, problem
from gateways.rest.reading import body_of
from gateways.service.inspector import Inspector
from umbriel.inspecting import LoginRequest

__all__ = ["LOGIN_PATH", "log_in"]

LOGIN_PATH = "/v1/login"
_VERB = "login"

AnyRequest = Request[Any, Any, Any]


async def log_in(request: AnyRequest, access: Access, inspector: Inspector) -> Response[Any]:
    """Return the token of the principal that a code was made for; a code that is none is a failure of its address."""
    try:
        said = _decoded(await body_of(request))
        try:
            reply = await inspector.login(said.code)
        except RefusedError as error:
            failed = access.failed(request, _VERB, error.found)
            if failed.status == 401:  # noqa: PLR2004 -- what is said of tokens does not help with a link
                failed.message, failed.expected = error.message, error.expected
            raise failed from error
    except (HttpError, InvalidInputError) as error:
        return problem(error)
    return Response(msgspec.json.encode(reply), media_type="application/json", headers=HEADERS)


def _decoded(body: bytes) -> LoginRequest:
    try:
        return msgspec.json.decode(body, type=LoginRequest, strict=True)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError("the login does not fit", expected="fields code", found=str(error)) from error
