"""The NATS API: FastStream subscribers on ``umbriel.api.<principal>.<profile>.<verb>``."""

from gateways.api.app import Api

__all__ = ["Api"]
