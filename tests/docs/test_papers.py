"""Is a wrong row of a paper refused, with the place where it is wrong?"""

import shutil

import pytest

from tests.docs.markdown import DOCS
from tests.docs.papers import LINKS, PAPERS, BadRow, load

pytestmark = [pytest.mark.unit, pytest.mark.checkout]

PLAIN = {"section": "1", "what": "A rule", "state": "live", "where": "[ras.py], [test_ras.py], [ras]"}
WRONG = {
    "a state that is none": ({"state": "done"}, "state = 'done', want live or simulated or not yet or cannot be tried"),
    "no state": ({"state": None}, "state = None, want some text"),
    "no section": ({"section": None}, "section = None, want some text"),
    "an empty section": ({"section": " "}, "section = ' ', want some text"),
    "a column that is none": ({"note": "see there"}, "note = 'see there', want section or what or state or where"),
    "no reason": ({"state": "cannot be tried here"}, "reason = None, want why it cannot be tried here"),
    "a reason to no end": ({"reason": "needs a cluster"}, "reason = 'needs a cluster', want none where it is live"),
    "a name that leads nowhere": ({"where": "[rash.py]"}, "where = '[rash.py]', want no [rash.py], or a line for it"),
    "no test": ({"where": "[ras.py], [ras]"}, "where = '[ras.py], [ras]', want code, a test and a page"),
    "no page": (
        {"where": "[ras.py], [test_ras.py]"},
        "where = '[ras.py], [test_ras.py]', want code, a test and a page",
    ),
    "nothing that is there": ({"where": None}, "where = None, want code, a test and a page"),
}


@pytest.fixture
def folder(tmp_path):
    """A copy of what the page is made from."""
    return shutil.copytree(DOCS / "papers", tmp_path / "papers")


def _append(folder, row):
    """One more row of GRASS; its number."""
    lines = "".join(f'{field} = "{text}"\n' for field, text in row.items() if text is not None)
    file = folder / "grass.toml"
    file.write_text(f"{file.read_text()}\n[[rows]]\n{lines}")
    return file.read_text().count("[[rows]]")


@pytest.mark.parametrize(("change", "says"), WRONG.values(), ids=WRONG)
def test_a_wrong_row_is_refused_by_file_row_and_field(folder, change, says):
    number = _append(folder, PLAIN | change)
    with pytest.raises(BadRow) as refused:
        load(folder)
    assert str(refused.value).startswith(f"grass.toml, row {number} (A rule): {says}")


def test_a_row_without_its_statement_is_refused_by_its_number(folder):
    number = _append(folder, PLAIN | {"what": None})
    with pytest.raises(BadRow, match=rf"^grass.toml, row {number}: what = None, want some text$"):
        load(folder)


def test_a_table_of_another_name_is_refused(folder):
    """Its rows would be missing on the page."""
    with (folder / "grass.toml").open("a") as file:
        file.write('[[row]]\nsection = "1"\n')
    with pytest.raises(BadRow, match=r"^grass.toml, tables: names = "):
        load(folder)


def test_a_name_that_no_row_uses_is_refused(folder):
    with (folder / f"{LINKS}.toml").open("a") as file:
        file.write('"rash.py" = "controlplane/rash.py"\n')
    with pytest.raises(BadRow, match=rf"^{LINKS}.toml, unused: rash.py = "):
        load(folder)


def test_every_file_of_the_folder_is_on_the_page():
    """A paper whose file nobody reads would go unseen."""
    assert {path.stem for path in (DOCS / "papers").iterdir()} == {*PAPERS, LINKS}
