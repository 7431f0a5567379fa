"""The extractor that needs no model and no network."""

from gateways.extraction.offline.extractor import OfflineExtractor

__all__ = ["OfflineExtractor"]
