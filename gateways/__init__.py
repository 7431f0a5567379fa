"""Edges: the log, the models, the transports, and the composition root that joins them."""
