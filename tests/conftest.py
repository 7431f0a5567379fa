"""What every test shares: how much hypothesis tries, how tests are spread over processes, and the real server."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.nats_fixtures"] if find_spec("tests.nats_fixtures") else []

# In CI the examples are the same every time, so that a red run is the change's doing.
settings.register_profile(
    "ci", derandomize=True, max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("dev", max_examples=25, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

_HERE = Path(__file__).parent
#: What takes longest begins first, so that no process is left with it alone at the end.
_ORDER = ("e2e", "integration", "contract", "properties")
_MOST_PROCESSES = 4


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Spread whole folders over the cores; a file or a test that is named runs in this process, as ``-n0`` would."""
    named = [Path(str(one).partition("::")[0]) for one in config.args]
    if not all((config.invocation_params.dir / one).is_dir() for one in named):
        return 0
    return min(max(os.cpu_count() or 1, 2), _MOST_PROCESSES)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bring the slow folders to the front where tests are spread; within a folder they stay as they were shuffled."""
    if hasattr(config, "workerinput"):
        items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    folder = item.path.relative_to(_HERE).parts[0]
    return _ORDER.index(folder) if folder in _ORDER else len(_ORDER)
