from __future__ import annotations

import sqlite3
from pathlib import Path

from projections.ledger import suppressions
from projections.ledger.matching import matching
from projections.ledger.store import Store
from tests.builders import NOW


def test_suppressions_are_looked_up_from_their_own_table(tmp_path: Path) -> None:
    """A recall does not look at every memory to learn that nothing is suppressed."""
    Store(tmp_path / "ledger.sqlite").close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as db:
        parameters = (*matching(NOW, None, frozenset({"instruction"})), 10)
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {suppressions._SUPPRESSING}", parameters)]
    assert plan[0].startswith("SCAN s")
    assert not any(step.startswith("SCAN m") for step in plan)
