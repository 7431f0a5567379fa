"""Ready configurations: what a coding agent needs to call the hooks."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

import msgspec

__all__ = ["CONFIGS"]

#: Claude Code's event, and the moment that it is
_CLAUDE = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "Stop": "stop",
    "PreCompact": "pre-compact",
    "SessionEnd": "session-end",
}
_SECONDS = 60


def _claude_code() -> str:
    hooks = {
        event: [{"hooks": [{"type": "command", "command": f"umbriel hook {moment}", "timeout": _SECONDS}]}]
        for event, moment in _CLAUDE.items()
    }
    return msgspec.json.format(msgspec.json.encode({"hooks": hooks}), indent=2).decode()


def _opencode() -> str:
    return (files("gateways.hooks") / "opencode.js").read_text("utf-8").rstrip()


#: by agent, the text of its configuration
CONFIGS: Mapping[str, str] = {"claude-code": _claude_code(), "opencode": _opencode()}
