"""What do these tests share? The recorded resource manager of each version."""

import pytest

from tests.yarn_bridge.recorded_rm import RecordedRm
from yarn_bridge.rm_client import RmClient

VERSIONS = ("3.4.3", "3.5.0")


@pytest.fixture(params=VERSIONS)
def recorded(request):
    with RecordedRm(request.param) as rm:
        yield rm


@pytest.fixture
def rm(recorded):
    return RmClient(recorded.url)
