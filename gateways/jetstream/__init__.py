"""The log on NATS JetStream, and a persistence module for `eventsourcing` over it."""

from gateways.jetstream.factory import JetStreamFactory

__all__ = ["JetStreamFactory"]
