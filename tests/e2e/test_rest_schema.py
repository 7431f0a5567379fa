"""What the OpenAPI document says is what the service does, as requests made from it find out.

The service is a process of its own: what makes the requests steers chance in this one.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.result import Ok

from gateways.rest.openapi import document
from tests.e2e.processes import ServiceProcess
from tests.rest_service import plain_client

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning"),
]

DOCUMENT = msgspec.json.decode(msgspec.json.encode(document()))
OPERATIONS: dict[str, Any] = {}
for _found in schemathesis.openapi.from_dict(DOCUMENT).get_all_operations():
    assert isinstance(_found, Ok)
    OPERATIONS[_found.ok().definition.raw["operationId"]] = _found.ok()
#: A poll that waits for half a minute says nothing about the document; a backup goes wherever it is told to.
FIXED: dict[str, dict[str, Any]] = {"feed": {"query": {"wait": 0}}, "backup": {"body": {"action": "status"}}}
MODES = [
    pytest.param(name, mode, id=f"{name}-{mode.value}")
    for name, asked in OPERATIONS.items()
    # Other tests share the service, and its master key.
    if name != "rotate_keys"
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    if mode is GenerationMode.POSITIVE or ((asked.body or asked.query) and "body" not in FIXED.get(name, {}))
]
load_all_checks()
CHECKED: Any = CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "negative_data_rejection",
    ]
)


@pytest.fixture(scope="module")
def token(service: ServiceProcess) -> str:
    """A token of the person of the data directory."""

    async def make() -> str:
        async with await service.client(principal="local") as person:
            return (await person.principal_token("local")).token

    return asyncio.run(make())


def test_what_is_served_is_the_document(service: ServiceProcess) -> None:
    """Nobody has to ask for it with a token."""
    with plain_client(service.http) as client:
        assert client.get("/schema/openapi.json").json() == DOCUMENT


@pytest.mark.parametrize("name, mode", MODES)
def test_the_service_does_what_the_document_says(
    service: ServiceProcess, token: str, name: str, mode: GenerationMode
) -> None:
    """Requests made from the document find no defect: statuses, types, headers and bodies are those it names.

    What does not fit its schemas is refused.
    """
    cases = OPERATIONS[name].as_strategy(generation_mode=mode, **FIXED.get(name, {}))

    @given(case=cases)
    @settings(
        max_examples=2,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(base_url=service.http, headers={"Authorization": f"Bearer {token}"}, checks=CHECKED)

    ask()
