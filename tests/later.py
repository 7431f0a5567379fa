"""A service process whose daily passes are due as of some days from now: ``LATER_DAYS`` says how many."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from functools import partial

from gateways import bootstrap, serving
from gateways.cli import main
from gateways.models.meter import Meter
from gateways.providing import ProviderSet
from tests.cheap import CheapEmbedder
from tests.thinkers import Thinkers

__all__ = ["clock"]


def clock() -> datetime:
    """Return the time that the passes go by: five in the morning, so that all of the day's are due."""
    return (datetime.now(UTC) + timedelta(days=int(os.environ["LATER_DAYS"]))).replace(hour=5, minute=0)


if __name__ == "__main__":
    setattr(bootstrap, "MiniLMEmbedder", CheapEmbedder)  # noqa: B010
    setattr(serving, "provider_set", lambda *_: ProviderSet(models=Thinkers(), meter=Meter()))  # noqa: B010
    setattr(serving, "running", partial(bootstrap.running, clock=clock))  # noqa: B010
    main()
