"""A service that knows the managed memory its environment names, in a process of its own."""

from __future__ import annotations

import functools
import os

from gateways import bootstrap
from gateways.cli import main
from gateways.managed import ManagedSettings
from tests.cheap import CheapEmbedder

if __name__ == "__main__":
    managed = ManagedSettings(
        base_url=os.environ["MANAGED_URL"], namespace=os.environ["MANAGED_NAMESPACE"], key=os.environ["MANAGED_KEY"]
    )
    setattr(bootstrap, "MiniLMEmbedder", CheapEmbedder)  # noqa: B010 -- mypy knows no assignment to a class
    setattr(bootstrap, "running", functools.partial(bootstrap.running, managed=managed))  # noqa: B010 -- as above
    main()
