"""The web inspector: static files that speak the REST API, served beside it; nothing here runs in the service."""
