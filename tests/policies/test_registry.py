"""Does the one table of policies name them, check their settings and know what a host must be able to do?"""

import inspect
import math
import re
from dataclasses import replace

import pytest

from controlplane.model.errors import BadSetting
from controlplane.model.facts import Capabilities
from controlplane.policies.registry import (
    TABLE,
    allocator,
    names,
    parse_policy,
    speculator,
)
from controlplane.policies.row import Kind

pytestmark = pytest.mark.unit


def test_names_are_found_by_kind():
    """An allocator's name is no speculator's, but for a pair that belongs together."""
    assert {"fair", "hopper"} <= set(names(Kind.ALLOCATOR))
    assert {"none", "late", "ras"} <= set(names(Kind.SPECULATOR))
    assert set(names(Kind.ALLOCATOR)) & set(names(Kind.SPECULATOR)) == {"unified"}
    assert [one.kind for one in parse_policy("unified+unified")] == [Kind.ALLOCATOR, Kind.SPECULATOR]


def test_weights_are_fetched_once_and_read_only():
    """A kernel that changed them would answer otherwise in the next cycle."""
    policy = replace(TABLE[0], weights=iter([[0.5, 2.0]]).__next__)
    assert policy.brought.tolist() == policy.brought.tolist() == [0.5, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        policy.brought[0] = 1.0


def test_an_unknown_name_is_refused_with_those_there_are():
    """The operator reads the field and the choice, not a stack trace."""
    with pytest.raises(
        BadSetting, match=r"engine.allocator = 'hoper', want fifo or fair or srpt or fixed or budgeted or hopper"
    ):
        allocator("hoper")
    with pytest.raises(BadSetting, match=r"engine.speculator = 'hopper', want none or late or mantri or"):
        speculator("hopper")


@pytest.mark.parametrize("text", ["hopper", "", "hopper+", "+ras", "ras+hopper", "hopper+ras+late"])
def test_a_policy_is_a_pair(text):
    """Both halves are needed, in this order."""
    with pytest.raises(BadSetting):
        parse_policy(text)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "0.1", True, None])
def test_a_setting_out_of_range_is_refused_by_its_full_name(value):
    """Anything that is not a number in the range, nan included."""
    with pytest.raises(BadSetting, match=r"engine.allocator_settings.fairness_epsilon = .*, want 0 to 1"):
        allocator("hopper").complete({"fairness_epsilon": value})


@pytest.mark.parametrize("value", [0.3, 0.99, -1, 2, True, "last"])
def test_a_switch_is_refused_between_its_two_values(value):
    """Taken for the nearer one, 0.3 would silently be one of two different rules."""
    with pytest.raises(BadSetting, match=r"engine.speculator_settings.copy_priority = .*, want 0 or 1"):
        speculator("late").complete({"copy_priority": value})


@pytest.mark.parametrize(
    ("name", "setting", "least", "most"),
    [
        ("mantri", "max_attempts", 1.0, 16.0),
        ("stock-spark", "duration_threshold_s", 0.0, 1e9),
        ("redundant-small", "max_tasks", 1.0, 100.0),
    ],
)
def test_a_setting_may_be_either_of_its_limits_and_nothing_beyond(name, setting, least, most):
    """One attempt, one task and no duration are of use; what is far beyond is a slip."""
    for value in (least, most):
        assert speculator(name).complete({setting: value})[setting] == value
    for value in (math.nextafter(least, -math.inf), math.nextafter(most, math.inf)):
        with pytest.raises(BadSetting):
            speculator(name).complete({setting: value})


def test_an_unknown_setting_is_refused_with_those_there_are():
    """A misspelt setting must not be silently the default."""
    with pytest.raises(
        BadSetting, match="copy_share or slow_task_share or copy_priority or end_beaten for speculator late"
    ):
        speculator("late").complete({"copyshare": 0.2})
    with pytest.raises(BadSetting, match="nothing to set for speculator none"):
        speculator("none").complete({"copy_share": 0.2})


def test_defaults_lie_in_their_ranges_and_needs_are_capabilities():
    """The table itself is checked, for the settings page is made from it."""
    for row in TABLE:
        assert all(setting.low <= setting.default <= setting.high for setting in row.settings)
        assert row.needs <= set(Capabilities.__struct_fields__)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_kernel_reads_no_other_row_s_settings(row):
    """The settings of all rows are in one record, where another's name is no error."""
    source = inspect.getsource(getattr(row.kernel, "py_func", row.kernel))
    read = {name.strip('"') for name in re.findall(r"settings\[([^]]+)\]", source)}
    assert read <= {setting.name for setting in row.settings}
