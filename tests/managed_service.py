"""A service that knows the managed memory its environment names, in a process of its own."""

from __future__ import annotations

import os

from gateways import bootstrap, serving
from gateways.cli import main
from gateways.managed import ManagedSettings
from gateways.models.meter import Meter
from gateways.providing import ProviderSet, local_models
from tests.cheap import CheapEmbedder

if __name__ == "__main__":
    managed = ManagedSettings(
        base_url=os.environ["MANAGED_URL"], namespace=os.environ["MANAGED_NAMESPACE"], key=os.environ["MANAGED_KEY"]
    )
    providers = ProviderSet(models=local_models(), meter=Meter(), managed=managed)
    setattr(bootstrap, "MiniLMEmbedder", CheapEmbedder)  # noqa: B010 -- mypy knows no assignment to a class
    setattr(serving, "provider_set", lambda *_: providers)  # noqa: B010 -- as above
    main()
