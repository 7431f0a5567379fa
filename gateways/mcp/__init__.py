"""The MCP server: the memory as tools of a language model, over stdio or streamable HTTP."""

from gateways.mcp.over_http import http_app
from gateways.mcp.server import Connection, build, over_stdio
from gateways.mcp.speakers import Speakers
from gateways.mcp.tools import DEFAULT_TOOLS, Tool, every_tool

__all__ = ["DEFAULT_TOOLS", "Connection", "Speakers", "Tool", "build", "every_tool", "http_app", "over_stdio"]
