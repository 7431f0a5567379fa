"""Hooks of coding agents: what an agent is told when a session starts or a prompt comes, and what is kept of it."""

from gateways.hooks.configs import CONFIGS
from gateways.hooks.moments import MOMENTS, run
from gateways.hooks.payload import Payload, profile_of, read_payload

__all__ = ["CONFIGS", "MOMENTS", "Payload", "profile_of", "read_payload", "run"]
