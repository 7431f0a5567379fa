"""The AsyncAPI document of the NATS API, and the catalogue of events."""
