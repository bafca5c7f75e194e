"""Which pages of the documentation are made? `python -m tests.docs.generated` writes them again.

Reason codes, settings, the snapshot's schema, policies and their records are tables in the code, and how far the papers
are is one in `docs/papers/`; their pages are never edited by hand.
"""

import ast
import inspect
from typing import Any, get_args

from pydantic.fields import FieldInfo

from controlplane.api.meanings import meaning
from controlplane.hosts.answers import HOST_ANSWERS
from controlplane.model import snapshot
from controlplane.model.facts import Capabilities
from controlplane.model.reasons import TEXTS, WHY_COPIED
from controlplane.policies.registry import TABLE
from controlplane.settings import Section, Settings
from tests.docs.markdown import DOCS, NOTE, table
from tests.docs.papers import papers
from tests.docs.policies import policies
from tests.docs.records import records

COLUMNS = ("setting", "default", "range", "read at", "meaning")
STARTUP, RUNTIME = "Startup", "Runtime"
SECTIONS = {
    "engine": "`mode`, `allocator` and `speculator` choose what is done; these numbers bound it.",
    "runtime": "Pace, bounds and patience of the live driver.",
    "store": "Where decisions are kept, for how long, and how much may wait to be written.",
}
"""Those sections that are made from dataclasses, in words."""


def reasons() -> str:
    """docs/reasons.md: every code with its sentence."""
    rows = [
        (reason.value, f"`{reason.label}`", "yes" if reason in WHY_COPIED else "", text.severity, text.sentence)
        for reason, text in sorted(TEXTS.items())
    ]
    answers = [(f"`{code}`", "yes" if answer.is_moot else "", answer.sentence) for code, answer in HOST_ANSWERS.items()]
    return f"""# Reasons

Every decision carries one of these codes: in `GET /api/v1/decisions`, on the decision page, in `grasshopper decisions`
and `grasshopper decide`. Numbers in braces are the decision's inputs. Severity is 0 (as it should be) to 3 (acted). The
number is stored and never reused for something else.

How often each occurs is counted: `grasshopper_decisions_total{{action, reason, mode}}` for all recorded ones, and
`grasshopper_copies_refused_total{{reason}}` for reasons against a copy. Codes of severity 0 are not
recorded as decisions: they are in the state, task by task. So is `mode`, of which a job has one record while the
mode stays off. If the input `progress` is not known, a sentence with a time left says that it is guessed.

{NOTE}
{table("number", "code", "for a copy", "severity", "sentence", rows=rows)}
## What hosts answer
Why an order was refused, or expired: the `reason` of an outcome in `GET /api/v1/decisions/<id>`, a sentence on the page
and in `grasshopper decisions`. `grasshopper_orders_not_carried_out_total{{type, answer}}` counts them, except those
that came too late: they make an order `moot`, which is no error.

{table("answer", "too late", "sentence", rows=answers)}"""


def settings() -> str:
    """docs/settings.md: what steers each policy, and the engine."""
    policies = []
    for row in TABLE:
        rows = [(f"`{s.name}`", f"{s.default:g}", s.want, RUNTIME, s.about) for s in row.settings]
        source = f" Source: {row.source}." if row.source else ""
        needs = f" Needs of the host: {', '.join(f'`{name}`' for name in sorted(row.needs))}." if row.needs else ""
        page = DOCS / "policies" / f"{row.name}.md"
        name = f"[{row.name}](policies/{row.name}.md)" if page.exists() else row.name
        of_row = table(*COLUMNS, rows=rows) if rows else "Nothing to set.\n"
        policies.append(f"### {name} ({row.kind})\n\n{row.about}{needs}{source}\n\n{of_row}")
    sections = []
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        assert isinstance(kind, type)
        assert issubclass(kind, Section)
        about = SECTIONS.get(name) or inspect.getdoc(kind)
        when = RUNTIME if name == "engine" else STARTUP
        rows = [
            (f"`{key}`", _default(each), _range(each), when, each.description)
            for key, each in kind.model_fields.items()
            if each.description
        ]
        sections.append(f"### {name}\n\n{about}\n\n{table(*COLUMNS, rows=rows)}")
    return f"""# Settings

Everything that can be set is in one of the sections at the end of this page: in the YAML file, or in the environment
(`GRASSHOPPER__SECTION__KEY`; lists and mappings as JSON). What is read at **Startup** holds until the next one. What is
read at **Runtime**, the section `engine` and the settings of policies, can also be changed while running: by
`PATCH /api/v1/settings`, or in the file, which SIGHUP reads again. A file with a mistake is refused whole, and the
settings in force stay.

A policy's settings go under `engine.allocator_settings`, `engine.speculator_settings` or `engine.copy_budget_settings`.
Names that are not in the table and values out of their range are refused by name. `grasshopper config show` prints
the settings of a control plane started in this shell, `grasshopper config show --server URL` those in force in a
running one. A policy's needs of the host are [capabilities](snapshot.md#capabilities): if the host lacks one, nothing
is ordered.

A change needs a reason, and names settings without the leading `engine.`; null resets a setting:

```
curl -X PATCH http://127.0.0.1:7272/api/v1/settings -H 'Content-Type: application/json' \\
  -d '{{"reason": "as configured again", "engine": {{"lease_ms": null}}}}'
```

The mode is not among them: `grasshopper mode set`, or `PUT /api/v1/mode`, changes it.

{NOTE}
## Policies

{chr(10).join(policies)}
## Sections

{chr(10).join(sections)}"""


def _default(field: FieldInfo) -> Any:
    """What holds if nothing is set."""
    return "none" if field.default is None else field.default


def _range(field: FieldInfo) -> str:
    """What a setting may be: its bounds, its words, or its kind."""
    low, high = (next((getattr(m, name) for m in field.metadata if hasattr(m, name)), None) for name in ("ge", "le"))
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    if words := get_args(field.annotation):
        return " or ".join(each for each in words if isinstance(each, str)) or "text"
    return "True or False" if field.annotation is bool else "text"


def snapshot_schema() -> str:
    """docs/snapshot.md: the structs of `state:dump`, with what their docstrings say."""
    kinds = [kind for _, kind in inspect.getmembers(snapshot, inspect.isclass)]
    structs = [kind for kind in kinds if kind.__module__ == snapshot.__name__]
    structs.sort(key=lambda kind: (kind is not snapshot.Snapshot, inspect.getsourcelines(kind)[1]))
    parts = [
        f"### {kind.__name__}\n\n{inspect.getdoc(kind)}\n\n{table('field', 'type', 'meaning', rows=_fields(kind))}"
        for kind in [*structs, Capabilities]
    ]
    return f"""# The snapshot

The control plane's view at one moment: `GET /api/v1/state:dump` returns it, a bug report attaches it, and
`grasshopper decide` asks a policy about it:

```
curl -s http://127.0.0.1:7272/api/v1/state:dump > state.json
grasshopper decide --policy fair+late --snapshot state.json
```

Ages and durations are seconds. Unknown numbers are null. A field that is missing or of another type is
refused by its path, for example `$.pools[0].slots`; unknown fields are ignored. The JSON Schema is part of
`/api/v1/openapi.json`, as `Snapshot`. `POST /api/v1/decide` answers the same question over HTTP, for dumps of up to a
mebibyte: `{{"policy": "fair+late", "snapshot": {{...}}}}`.

The answer has, for each pool, `targets` (slots, cap and virtual size of each job), `copies` (tasks that the policy
would copy now, best first) and `refusals` (every other running task), both with score, reason and sentence.
The dump is loaded into the engine, whose own cycle decides: under the policy and the settings in force it says what the
engine would do at that moment. An ordered copy is on its way, and is not ordered again; a driver whose
queue is missing from the dump counts as one without a queue.

{NOTE}
{chr(10).join(parts)}"""


def _fields(kind: type) -> list[tuple[str, str, str]]:
    """(name, type, meaning) of a struct's fields."""
    (body,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(body, ast.ClassDef)
    fields = [(ast.unparse(line.target), line.annotation) for line in body.body if isinstance(line, ast.AnnAssign)]
    return [(f"`{name}`", f"`{ast.unparse(of)}`", meaning(kind, name)) for name, of in fields]


PAGES = {
    "papers.md": papers,
    "policies/README.md": policies,
    "reasons.md": reasons,
    "records.md": records,
    "settings.md": settings,
    "snapshot.md": snapshot_schema,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
