"""Content as text or as a list of blocks, in the spellings of OpenAI and Anthropic."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateways.importers.conversation import BadValueError, as_name, shape_of

__all__ = ["Blocks", "Output", "is_step", "read_blocks", "read_output"]

_OUTPUTS = ("tool_result", "function_call_output")
_STEPS = ("reasoning", "item_reference", "compaction")


class Output(msgspec.Struct, frozen=True):
    """What a tool answered, under the id of its call."""

    id: str
    text: str


class Blocks(msgspec.Struct, frozen=True, kw_only=True):
    """A content: its text blocks joined by line breaks, the outputs of tools, and the types of all the others."""

    text: str = ""
    outputs: tuple[Output, ...] = ()
    left_out: tuple[str, ...] = ()


def is_step(value: object) -> bool:
    """Return whether a JSON value is a step between messages, which has a type and no role: a call, its output."""
    if not isinstance(value, Mapping) or "role" in value or not isinstance(value.get("type"), str):
        return False
    return value["type"] in _STEPS or value["type"].endswith(("_call", "_call_output"))


def read_blocks(content: object) -> Blocks:
    """Return a content taken apart; None is empty."""
    if content is None:
        return Blocks()
    if isinstance(content, str):
        return Blocks(text=content)
    if not isinstance(content, list):
        raise BadValueError("content is not text", expected="text, null or a list of parts", found=shape_of(content))
    texts: list[str] = []
    outputs: list[Output] = []
    left_out: list[str] = []
    for block in content:
        if isinstance(block, Mapping) and block.get("type") in _OUTPUTS:
            outputs.append(read_output(block))
        elif (text := _text(block)) is not None:
            texts.append(text)
        else:
            left_out.append(str(block.get("type", "part")) if isinstance(block, Mapping) else "part")
    return Blocks(text="\n".join(filter(None, texts)), outputs=tuple(outputs), left_out=tuple(left_out))


def read_output(block: Mapping[str, object]) -> Output:
    """Return what a tool answered: text, or the text blocks of a list."""
    identity = as_name(block.get("tool_use_id") or block.get("call_id"), field="call_id")
    content = block.get("content", block.get("output"))
    return Output(identity, read_blocks(content).text)


def _text(block: object) -> str | None:
    """Return the text of a block, None for a picture, a sound, a thought or a call."""
    if isinstance(block, str):
        return block
    if not isinstance(block, Mapping):
        raise BadValueError("a content part is not text", expected="text or an object", found=shape_of(block))
    text = block.get("text", block.get("refusal"))
    if text is not None and not isinstance(text, str):
        raise BadValueError("a content part is not text", expected="text", found=shape_of(text))
    return text
