"""The OpenAPI document: valid, complete, and what the service does, as requests made from it find out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from openapi_spec_validator import OpenAPIV31SpecValidator, validate
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error, response_headers_conformance
from schemathesis.checks import CHECKS, load_all_checks

from gateways.rest.openapi import document
from gateways.rest.routes import routes
from gateways.service.service import VERBS
from tests.rest_service import RestService

pytestmark = pytest.mark.timeout(120)

DOCUMENT = document()
OPERATIONS = [
    (path, method, operation) for path, methods in DOCUMENT["paths"].items() for method, operation in methods.items()
]


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestService]:
    """One service for all of these tests."""
    with RestService(tmp_path_factory.mktemp("rest-schema") / "data") as running:
        yield running


def test_the_document_is_valid() -> None:
    """It is OpenAPI 3.1 by the specification's own schema, and every reference in it leads somewhere."""
    validate(DOCUMENT, cls=OpenAPIV31SpecValidator)
