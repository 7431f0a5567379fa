"""The REST API: the verbs of the one table under paths of HTTP, served by uvicorn."""

from gateways.rest.app import Rest
from gateways.rest.server import HttpAddress, http_address, serving

__all__ = ["HttpAddress", "Rest", "http_address", "serving"]
