"""Are users' own programs sped up where something is slow, left alone where nothing is, and right in their results?"""

import pytest

from tests.programs import runner
from tests.programs.case import CONTROL, launched, score
from tests.programs.program import programs

pytestmark = pytest.mark.integration

RESULTS = {
    "exploded_words": "1fd04ee8bae577c8839bb1f139ed62cf9c1280de0665fb181bd00ba813663f1f",
    "external_calls": "4f9bb90e5e40181dbe811f043e67862fa00ccc5528b7b39f63ada92ca129a2fe",
    "jvm_rdd": "49a694e9ac2519ac4326a1c655731767e3ee620519fec0feae32c07a372dede6",
    "looked_up_rows": "07c5885d921edfcaf990b9cb0d59db1c108872e1caa76e787d0747ee077df0c2",
    "map_in_pandas": "039f0df1cc7dff985560a4c45d2d0a633c79b5020b6735fa352ea8e7b46c93cf",
    "text_fields": "f02d30586013277ba7e8235dceb1093fc9a0a0d8611850ae1113d40f089ccd31",
}
"""Hashes of what each comes to, under any contestant."""


@pytest.fixture(scope="module")
def grounds(tmp_path_factory):
    with runner.grounds("4", tmp_path_factory.mktemp("programs")) as found:
        yield found


@pytest.mark.parametrize(
    ("name", "slowness"),
    [
        pytest.param("exploded_words", "none", marks=pytest.mark.full),
        ("external_calls", "hang"),
        pytest.param("jvm_rdd", "hang", marks=pytest.mark.full),
        pytest.param("looked_up_rows", "freeze", marks=pytest.mark.full),
        pytest.param("map_in_pandas", "hang-last", marks=pytest.mark.full),
        ("text_fields", "slow-source"),
    ],
)
def test_a_users_program_gets_copies_where_it_deserves_them(grounds, name, slowness):
    """A hang alone would take 20 s, the freeze 12, the slow source as long as the hang."""
    case = runner.run(grounds, programs()[name], slowness, CONTROL)
    found = score([(case, launched(case))])
    assert case.result == RESULTS[name]
    assert found.found == found.deserving
    assert found.deserving > 0 or slowness == "none"
    assert found.copies - found.right <= found.healthy / 20
