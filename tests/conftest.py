"""What every test shares: how much hypothesis tries, and the real server."""

from __future__ import annotations

import os
from importlib.util import find_spec

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.nats_fixtures"] if find_spec("tests.nats_fixtures") else []

# In CI the examples are the same every time, so that a red run is the change's doing.
settings.register_profile(
    "ci", derandomize=True, max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("dev", max_examples=25, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
