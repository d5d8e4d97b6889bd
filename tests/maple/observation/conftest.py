"""The battles that tests of observations share: played once, by chance, with all that was said."""

from __future__ import annotations

import pytest

from tests.maple.observation.matchups import every_kind, every_theme
from tests.maple.observation.recorded import RecordedBattle, record


@pytest.fixture(scope="session")
def battles() -> list[RecordedBattle]:
    """One battle of every kind and of every theme."""
    return record([*every_kind(1), *every_theme(1)])
