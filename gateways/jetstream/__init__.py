"""The log on NATS JetStream, and a persistence module for `eventsourcing` over it."""
