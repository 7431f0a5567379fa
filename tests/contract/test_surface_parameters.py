"""One table, all surfaces: every one has the fields of the request types, with their kinds and defaults.

What a surface calls otherwise or leaves out on purpose is in `gateways.surfaces`, and a line there that is no longer
true fails here as well.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from datetime import datetime
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
import pytest
import typer

from gateways.cli.app import app
from gateways.mcp import DEFAULT_TOOLS, Tool, every_tool
from gateways.rest.openapi import document
from gateways.rest.routes import routes
from gateways.service.service import VERBS
from gateways.surfaces import COMMANDS, METHODS, NOT_FOR_MODELS, NOT_IN_CLIENT, NOT_IN_TOOLS, OURS
from umbriel import Umbriel

DOCUMENT = document()
#: options of every command
COMMON = {"--profile", "--json", "--data", "--nats", "--principal"}
#: parameters of the client that are about the call, or say which profile is meant
ABOUT_THE_CALL = {"self", "timeout", "progress", "service"}
COMMAND: Any = typer.main.get_command(app)
TOOLS = {tool.verb: tool for tool in every_tool()}


def kind_of(of: Any) -> str:
    """What kind of value a type is of: text, time, number, boolean, list or object."""
    if get_origin(of) is Annotated:
        return kind_of(get_args(of)[0])
    if get_origin(of) in (typing.Union, UnionType):
        kinds = {kind_of(one) for one in get_args(of) if one is not type(None)}
        # A point is a text, which the client also makes of a time.
        return kinds.pop() if len(kinds) == 1 else "text" if kinds == {"text", "time"} else str(kinds)
    if get_origin(of) is Literal:
        return "text"
    for kind, types in {
        "boolean": (bool,),
        "number": (int, float),
        "time": (datetime,),
        "text": (str,),
        "object": (dict, typing.get_origin(typing.Mapping[str, str])),
        "list": (list, *(get_origin(one[str]) for one in (typing.Iterable, typing.Sequence))),
    }.items():
        if (get_origin(of) or of) in types:
            return kind
    return str(of)


def kind_of_schema(schema: dict[str, Any]) -> str:
    """What kind of value a JSON Schema describes."""
    for one in schema.get("anyOf", [schema]):
        if one.get("type") == "string":
            return "time" if one.get("format") == "date-time" else "text"
        if one.get("type") not in (None, "null"):
            return {"integer": "number", "array": "list"}.get(str(one["type"]), str(one["type"]))
    return "text" if "enum" in schema or "enum" in str(schema) else "object"


class Field(msgspec.Struct, frozen=True):
    """A field of a request: its kind, whether it must be given, and what it is when it is not."""

    kind: str
    required: bool
    default: Any = None


def fields_of(verb: str) -> dict[str, Field]:
    """The fields of a verb's request."""
    request = VERBS[verb].request
    hints = typing.get_type_hints(request)
    return {
        one.name: Field(kind_of(hints[one.name]), one.required, plain(one.default))
        for one in msgspec.structs.fields(request)
    }


def plain(default: Any) -> Any:
    """A default as surfaces compare: an empty text, an empty list and nothing are the same."""
    return None if default in (msgspec.NODEFAULT, inspect.Parameter.empty, "", (), [], {}) else default


def test_every_verb_is_everywhere() -> None:
    """Each has a path, a command and a method, and a tool unless a person or nobody but the service needs it."""
    assert set(COMMANDS) == set(VERBS)
    assert {verb for verb in VERBS if not hasattr(Umbriel, METHODS.get(verb, verb))} == set()
    persons = {name for name, verb in VERBS.items() if verb.needs.person}
    assert set(TOOLS) == set(VERBS) - persons - set(NOT_FOR_MODELS)
    assert set(NOT_FOR_MODELS).isdisjoint(persons)


@pytest.mark.parametrize("verb", VERBS)
def test_the_paths_have_the_fields(verb: str) -> None:
    """REST takes every field, in path, query or body, as what the type says."""
    seen: dict[str, dict[str, Any]] = {}
    for way in routes(verb):
        said = DOCUMENT["paths"][way.path][way.method.lower()]
        seen |= {one["name"]: one["schema"] for one in said["parameters"] if one["in"] == "query"}
        seen |= {one["name"]: one["schema"] for one in said["parameters"] if one["in"] == "path"}
        schema = said.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        if "$ref" in schema:
            schema = DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        seen |= schema.get("properties", {})
    wanted = {name: field.kind for name, field in fields_of(verb).items()}
    if "profile" not in wanted:
        seen.pop("profile", None)
    assert {name: kind_of_schema(schema) for name, schema in seen.items()} == wanted


@pytest.mark.parametrize("verb", TOOLS)
def test_the_tools_have_the_fields(verb: str) -> None:
    """A tool takes every field that it does not fill in itself, with the limits and defaults of the document."""
    schema = TOOLS[verb].schema()
    left_out = {*OURS, *NOT_IN_TOOLS.get(verb, {})}
    wanted = {name: field for name, field in fields_of(verb).items() if name not in left_out}
    assert {name: kind_of_schema(one) for name, one in schema["properties"].items()} == {
        name: field.kind for name, field in wanted.items()
    }
    assert set(schema["required"]) == {name for name, field in wanted.items() if field.required}
    described = DOCUMENT["components"]["schemas"][VERBS[verb].request.__name__]["properties"]
    for name, one in schema["properties"].items():
        limits = {word: value for word, value in described[name].items() if word.startswith(("max", "min", "default"))}
        assert limits.items() <= one.items(), name


@pytest.mark.parametrize("tool", DEFAULT_TOOLS, ids=lambda tool: tool.name)
def test_the_usual_tools_are_a_part_of_it(tool: Tool) -> None:
    """The five that every model reads have some of the fields of the same verb, described alike."""
    whole, part = TOOLS[tool.verb].schema(), tool.schema()
    assert part["properties"].items() <= whole["properties"].items()
    assert part["required"] == whole["required"]


@pytest.mark.parametrize("verb", VERBS)
def test_the_client_has_the_fields(verb: str) -> None:
    """Each is a parameter of the method, of its kind and with its default, or is left out for a reason."""
    method = getattr(Umbriel, METHODS.get(verb, verb))
    hints = typing.get_type_hints(method)
    given = {name: one for name, one in inspect.signature(method).parameters.items() if name not in ABOUT_THE_CALL}
    left_out = NOT_IN_CLIENT.get(verb, {})
    fields = fields_of(verb)
    assert left_out.keys() <= fields.keys()
    if verb in METHODS:
        return
    assert given.keys() == fields.keys() - left_out.keys()
    for name, parameter in given.items():
        wanted = fields[name]
        assert kind_of(hints[name]) == wanted.kind, name
        assert not wanted.required or plain(parameter.default) is None, name
        # Waiting is what one calls a method for where there is nothing else to do; elsewhere nobody waits unasked.
        if name != "wait" and not wanted.required:
            assert plain(parameter.default) == wanted.default, name


def parameters(verb: str) -> Iterator[Any]:
    """The options and arguments of a verb's command, without those of every command."""
    command = COMMAND
    for word in COMMANDS[verb].words:
        command = command.commands[word]
    for one in command.params:
        if not set(one.opts) & COMMON:
            yield one


def name_of(parameter: Any) -> str:
    """What an option is called, or how the help shows an argument."""
    if parameter.param_type_name == "option":
        return str(parameter.opts[0])
    return str(parameter.metavar or parameter.name.upper())


@pytest.mark.parametrize("verb", VERBS)
def test_the_commands_have_the_fields(verb: str) -> None:
    """Each is an option or an argument, of its kind and with its default, or is left out for a reason."""
    said = COMMANDS[verb]
    fields = fields_of(verb)
    assert {*said.spelt, *said.without} <= fields.keys()
    assert set(said.spelt).isdisjoint(said.without)
    wanted = {name: said.spelt.get(name, f"--{name.replace('_', '-')}") for name in fields if name not in said.without}
    have = {name_of(one): one for one in parameters(verb)}
    assert have.keys() == {*wanted.values(), *said.beside}
    for name, option in wanted.items():
        one, field = have[option], fields[name]
        if name in said.spelt and name not in {"kinds", "channels", "views"}:
            continue  # called otherwise, for it is said otherwise
        flag = bool(getattr(one, "is_flag", False))
        assert (flag, one.multiple) == (field.kind == "boolean", field.kind == "list"), name
        if name != "wait":
            assert plain(one.default) == field.default, name
