"""Whatever is wrong with an export, it is read or refused with one error of the input, never anything else."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInputError
from gateways.importers import Hints, read_export
from tests.unit.test_import_assistants import ANTHROPIC, BOATS, CLAUDE, RESPONSES
from tests.unit.test_import_people import SLACK, TELEGRAM, zipped
from tests.unit.test_import_whatsapp import BRACKETED, DASHED

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(
        ["", "x", "\ud800", "\0", "9" * 5000, "0001-01-01", "9999-12-31T23:59:59-12:00", 253402300799, 10**5000]
    ),
    st.lists(st.none(), max_size=2),
    st.dictionaries(st.sampled_from(["id", "text", "type", "role"]), st.integers(), max_size=2),
)
EXPORTS = [[BOATS], [CLAUDE], TELEGRAM, {"chats": {"list": [TELEGRAM]}}, ANTHROPIC, RESPONSES]


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, one in inside for found in ((*at, key), *places(one, (*at, key)))]


def spoiled(data: st.DataObject, value: Any) -> Any:
    """Return a value with up to three others in places of its own."""
    changed = deepcopy(value)
    for _ in range(data.draw(st.integers(1, 3))):
        if not (found := places(changed)):
            break
        *path, last = data.draw(st.sampled_from(found))
        at = changed
        for key in path:
            at = at[key]
        at[last] = data.draw(ODD)
    return changed


@pytest.mark.parametrize("export", EXPORTS)
@given(data=st.data(), skip=st.booleans())
def test_an_export_with_odd_values(
    tmp_path_factory: pytest.TempPathFactory, export: Any, data: st.DataObject, *, skip: bool
) -> None:
    """Numbers too large, times at the ends of time, half characters, lists for texts: an error of the input or none."""
    path = tmp_path_factory.mktemp("odd") / "export.json"
    try:
        path.write_text(json.dumps(spoiled(data, export)))
    except ValueError:
        return  # json writes no integer of that length
    try:
        found = read_export(path, Hints(skip_broken=skip))
    except InvalidInputError:
        return
    assert sum(len(one.messages) for one in found) == found.messages


@given(data=st.data())
def test_a_slack_export_with_odd_values(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """In the days as in the lists beside them."""
    try:
        path = zipped(tmp_path_factory.mktemp("odd"), spoiled(data, SLACK))
        found = read_export(path)
    except (InvalidInputError, ValueError):
        return
    assert sum(len(one.messages) for one in found) == found.messages


@pytest.mark.parametrize("text", [json.dumps([BOATS, CLAUDE]), json.dumps(TELEGRAM), BRACKETED, DASHED])
@given(data=st.data())
def test_a_damaged_file(tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject) -> None:
    """Bytes missing or changed anywhere."""
    raw = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(0, len(raw) - 1)))
        raw[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=4))
    path = tmp_path_factory.mktemp("odd") / "export.txt"
    path.write_bytes(bytes(raw))
    try:
        found = read_export(path)
    except InvalidInputError:
        return
    assert sum(len(one.messages) for one in found) == found.messages


def test_json_that_is_nested_without_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One error, not the end of the stack."""
    path = tmp_path_factory.mktemp("odd") / "export.json"
    for text in ("[" * 200_000, '{"mapping": ' * 200_000):
        path.write_text(text)
        with pytest.raises(InvalidInputError):
            read_export(path)
