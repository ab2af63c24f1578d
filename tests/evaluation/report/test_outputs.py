"""Every output says all, escapes what is foreign, and needs nothing beside itself."""

import json
import re
from base64 import b64decode

import numpy as np
import pytest

from html_page import Page
from sciprism.evaluation.report import outputs
from sciprism.evaluation.report.build import build_tables
from sciprism.evaluation.report.figures import draw_task_types
from sciprism.evaluation.task import Average, Published, Suite, Task

NASTY = r"a_b & <b>50%</b> | $x$ #{~^}\ *"


@pytest.fixture
def report(lab):
    """Two systems and a name that no output may take for markup; B failed at one task."""
    one, two = tasks = tuple(Task(name=name, format="search", protocol=None, data=None) for name in ("one", "two"))
    for task, base in ((one, 0.5), (two, 0.25)):
        lab.add(NASTY, task.name, {"map": [base, base + 0.25]}, group="fine", key=task.key)
    lab.add("B", "one", {"map": [0.75, 0.99]}, group="fine", key=one.key)
    lab.add("B", "two", status="failed", reason="OSError: disk", group="fine", key=two.key)
    declared = Suite(
        name="own",
        tasks=tasks,
        averages=(Average(name="Average", tasks=("one", "two")),),
        published=(Published(name="SPECTER", source="table 2", scores={"Average": 67.9, "one": 50.25}),),
    )
    return lab.report({"own": declared})


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.06, 0.07, 0.3])
def test_a_mark_and_its_interval_agree_in_every_output(lab, shift):
    """A star if and only if the printed interval excludes 0; an average over that task alone is not shown."""
    random = np.random.default_rng(1)
    base = random.random(60)
    lab.add("A", "one", {"map": base})
    lab.add("B", "one", {"map": np.clip(base + shift + random.normal(0, 0.2, 60), 0, 1)})
    report = lab.report()
    task, average = json.loads(outputs["json"](report))["rows"]
    task, average = (each["cells"]["B"]["difference"] for each in (task, average))
    assert average == task | {"corrected": None, "marked_among_all": False}
    assert task["marked"] == (task["low"] > 0 or task["high"] < 0) == (task["p"] < 0.05)
    assert task["marked_among_all"] <= task["marked"]
    for name, pattern in (
        ("terminal", r"([+-][\d.]+ \[(\S+), (\S+)\])( \*+)?"),
        ("markdown", r"([+-][\d.]+ \\\[(\S+), (\S+)\\\])( [*\\]+)?"),
        ("html", r"<td>([+-][\d.]+)( \*+)? ?<small>\[(\S+), (\S+)\]"),
    ):
        found = re.findall(pattern, outputs[name](report))
        (parts,) = found
        low, high = (float(part) for part in (parts[2:4] if name == "html" else parts[1:3]))
        mark = parts[1] if name == "html" else parts[3]
        assert bool(mark) == (low > 0 or high < 0) == task["marked"]
        assert (mark.count("*") == 2) == task["marked_among_all"]


@pytest.mark.parametrize("name", outputs)
def test_every_output_holds_every_number_and_note(report, name):
    text = outputs[name](report)
    for words in ("87.00", "62.50", "50.25") if name != "json" else ("0.87", "0.625", "50.25"):
        assert words in text
    assert "incomplete" in text and "disk" in text


@pytest.mark.parametrize("name", outputs)
def test_a_model_that_never_learned_is_marked_in_every_output(lab, name):
    kept = {"stage": "distil", "step": 0, "kept_start": True}
    facts = {"learned": {"stage": "distil", "step": 20}, "kept": kept, "former": {"stage": "distil", "step": 0}}
    for system, provenance in facts.items():
        lab.add(system, "one", {"map": [0.5, 0.75]}, system={"name": system, "provenance": provenance})
    text = outputs[name](lab.report())
    found = re.findall(r"(\w+): its training kept step 0 of stage distil", " ".join(text.split()))
    assert found == ["former", "kept"]


def remarked(lab, count):
    """A report on one system at so many tasks, whose declarations say what their data are."""
    tasks = [
        Task(name=f"t{i}", format="search", protocol=None, data=None, remark=f"{NASTY} number {i}")
        for i in range(count)
    ]
    for task in tasks:
        lab.add("A", task.name, {"map": [0.5, 0.25]}, key=task.key)
    lab.add("A", "changed", {"map": [0.5, 0.25]})  # of another declaration than this one
    tasks.append(Task(name="changed", format="search", protocol=None, data=None, remark="what it is now"))
    return lab.report({"own": Suite(name="own", tasks=tuple(tasks), remark="in place of others")})


@pytest.mark.parametrize("name", outputs)
def test_every_output_says_what_the_data_are(lab, name):
    report = remarked(lab, 2)
    assert list(report.remarks) == ["own", "own/t0", "own/t1"]
    text = " ".join(outputs[name](report).split())
    for words in ("in place of others", "number 0", "number 1"):
        assert words in text
    assert "what it is now" not in text and "<b>50" not in outputs["html"](report)


def test_pages_say_of_many_tasks_what_a_terminal_does_not(lab):
    report = remarked(lab, 9)
    assert all("number 8" in outputs[name](report) for name in ("markdown", "html", "json"))
    text = " ".join(outputs["terminal"](report).split())
    assert "in place of others" in text and "number 0" not in text
    assert "what the data of these 9 tasks are: docs/benchmarks.md, or `sciprism compare -o PAGE.html`" in text


def test_markdown_tables_are_rectangular_whatever_names_hold(report):
    for part in outputs["markdown"](report).split("\n\n"):
        if part.startswith("|"):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in part.splitlines()}) == 1


def test_latex_takes_no_name_for_a_command(report):
    text = outputs["latex"](report)
    escaped = r"a\_b \& \textless{}b\textgreater{}50\%\textless{}/b\textgreater{} \textbar{} \$x\$ "
    assert escaped + r"\#\{\textasciitilde{}\textasciicircum{}\}\textbackslash{} *" in text
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == text.count(r"\toprule")


def test_the_page_is_whole_and_needs_nothing_from_elsewhere(report, lab):
    report = lab.report()  # with an average of each task type, which is drawn
    page = outputs["html"](report)
    reader = Page(page)
    assert reader.is_nested and not reader.open
    tags = [tag for tag, _ in reader.tags]
    assert not {"link", "iframe"} & set(tags)
    sources = [facts[key] for _, facts in reader.tags for key in ("src", "srcset", "href") if key in facts]
    drawn = [b64decode(source.removeprefix("data:image/svg+xml;base64,")).decode() for source in sources]
    assert len(drawn) == 2 and all("<svg" in each and "87.0" in each for each in drawn)
    assert "url(" not in page and "@import" not in page and "://" not in page
    assert NASTY in reader.text and "<b>" not in page
    assert [facts["alt"] for tag, facts in reader.tags if tag == "img"] == [
        draw_task_types(report, report.suites[0]).table.title
    ]
    assert tags.count("table") == sum(1 for _ in build_tables(report))
    assert sum(facts.get("scope") == "col" for _, facts in reader.tags) == tags.count("button")


@pytest.mark.parametrize("output", outputs)
def test_averages_over_a_part_of_a_suite_are_marked_in_every_output(lab, output):
    """Also those by format and group, over tasks that were not run, and those of a view."""
    for task in ("one", "two"):
        lab.add("A", task, {"map": [0.5, 0.75]}, group="fine")
    tasks = tuple(
        Task(name=name, format="search", protocol=None, data=None, group=group)
        for name, group in (("one", "fine"), ("two", "fine"), ("three", "coarse"), ("four", "coarse"))
    )
    names = tuple(task.name for task in tasks)
    whole = Suite(name="own", tasks=tasks, averages=(Average(name="Mean", tasks=names),), views={"quick": names[:2]})
    part = outputs[output](lab.report({"own": Suite(name="own", tasks=tasks)}))
    assert "format search (incomplete: 2 of 4)" in part and "fine (" not in part
    assert "Mean (quick view)" in outputs[output](lab.report({"own": whole}))
    if output == "json":
        rows = {row["name"]: row["incomplete"] for row in json.loads(part)["rows"]}
        assert rows == {"one map": False, "two map": False, "format search": True, "fine": False}
