"""Is the documentation true? Pages that are made are up to date, links lead somewhere, every policy has its page."""

import inspect
import re
from typing import get_type_hints

import pytest

from controlplane.api.meanings import meaning
from controlplane.hosts.answers import HOST_ANSWERS
from controlplane.model import snapshot
from controlplane.model.reasons import TEXTS, Reason
from controlplane.policies.registry import FORESEEING, TABLE
from tests.docs.generated import PAGES
from tests.docs.markdown import DOCS

pytestmark = [pytest.mark.unit, pytest.mark.checkout]

STRUCTS = [kind for _, kind in inspect.getmembers(snapshot, inspect.isclass) if kind.__module__ == snapshot.__name__]
REFUSING = {"OrderGate", "QueueLink", "SparkHost", "TaskAttempts", "Wishes"}
"""Java classes that choose an answer; in one of them `grasshopper` is why an attempt was killed."""
CHOSEN = re.compile(r'(?:return|[?:]) "([a-z_]+)(?=[":])')
GIVEN = re.compile(r'(?:refused|expired|drop|standDown)\([^;{]*?"([a-z_]+)(?=[":])')
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)#\s]+)(?:#[^)]*)?\)")
DEFINITION = re.compile(r"^\[([^\]]+)\]: (\S+)$", re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_pages_that_are_made_are_up_to_date(name):
    """`python -m tests.docs.generated` writes them again."""
    assert (DOCS / name).read_text() == PAGES[name]()


def test_shims_say_what_the_table_of_answers_knows_and_nothing_else():
    """Each is told in words on the page; one that no shim gives would explain nothing."""
    said = set()
    for path in (DOCS.parent / "jvm-shim").glob("shim-*/src/main/**/*.java"):
        text = path.read_text()
        said |= set(GIVEN.findall(text)) | set(CHOSEN.findall(text) if path.stem in REFUSING else ())
    assert said - {"grasshopper"} == HOST_ANSWERS.keys()


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__name__)
def test_only_what_may_be_null_in_a_snapshot_is_called_null(kind):
    """`grasshopper decide` refuses null for any other field."""
    nullable = {name for name, of in get_type_hints(kind).items() if "None" in str(of)}
    assert {name for name in kind.__struct_fields__ if "null" in meaning(kind, name)} <= nullable


def test_every_reason_has_a_sentence():
    """A code without one would show as a stack trace on the page."""
    assert set(TEXTS) == set(Reason)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_lead_to_files_that_are_there(page):
    """Relative ones; a moved file takes its links along."""
    text = page.read_text()
    links = LINK.findall(text) + [target for _, target in DEFINITION.findall(text)]
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert broken == []


@pytest.mark.parametrize("policy", sorted({row.name for row in (*TABLE, *FORESEEING)}))
def test_every_policy_has_a_page_that_says_when_not_to_use_it(policy):
    """Rule or formula, when, when not, and where a paper's print is wrong."""
    page = (DOCS / f"policies/{policy}.md").read_text()
    bold = {each.lower().strip(".") for each in re.findall(r"\*\*([^*]+?)\*\*", page)}
    assert {"when", "when not", "erratum"} <= bold
    assert {"rule", "formula"} & bold
