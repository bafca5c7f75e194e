"""A store for every test of this folder."""

import pytest

from controlplane.store.parameters import StoreSettings
from controlplane.store.store import Store
from tests.store.stored import WALL_MS


@pytest.fixture
def opened(tmp_path):
    """A function that opens stores over one file; they are closed at the end."""
    stores = []

    def open_store(**settings):
        chosen = {"url": str(tmp_path / "store.db"), "retry_s": 0.02, "sweep_every_s": 3600.0} | settings
        store = Store(StoreSettings(**chosen), wall_ms=lambda: WALL_MS)
        store.open()
        stores.append(store)
        return store

    yield open_store
    for store in stores:
        store.close()
