"""The doctor: checks of a data directory, of its service, and of what both rest on; it changes nothing."""

from __future__ import annotations

from gateways.doctor.examine import examine
from gateways.doctor.findings import Finding, Report

__all__ = ["Finding", "Report", "examine"]
