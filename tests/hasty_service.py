"""A service process that hands a turn over after half a second."""

from __future__ import annotations

from functools import partial

from domain import settings
from gateways import bootstrap
from gateways.cli import main
from tests.cheap import CheapEmbedder

if __name__ == "__main__":
    quick = partial(settings.Settings, turns=settings.TurnLimits(resume_seconds=0.5))
    setattr(bootstrap, "MiniLMEmbedder", CheapEmbedder)  # noqa: B010 -- mypy knows no assignment to a class
    setattr(settings, "Settings", quick)  # noqa: B010 -- as above; the command reads it when it runs
    main()
