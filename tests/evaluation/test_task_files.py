"""Custom tasks: what a TOML file may hold, and the messages for what it may not."""

import os
import sys
from contextlib import suppress
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path

import pytest

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.custom import CustomCorpus, LabelledTable
from sciprism.datasets.layouts.published import SciDocsPools
from sciprism.errors import InputError
from sciprism.evaluation.protocols.probe import ProbeProtocol
from sciprism.evaluation.protocols.rank import RerankProtocol, RetrieveProtocol
from sciprism.evaluation.task_files import read_suite
from sciprism.evaluation.tuning import Tuning

HEAD = '[[task]]\nname = "find"\nprotocol = "retrieve"\nformat = "search"\nmetric = "ndcg@10"\n'


@pytest.fixture
def toml(tmp_path):
    """Write a TOML file next to the data of its tasks, and read it."""
    (tmp_path / "ozone").mkdir()
    (tmp_path / "ozone" / "papers.csv").write_text("id,title\n1,A\n")
    (tmp_path / "ozone" / ".notes").write_text("hidden")
    (tmp_path / "refs.bib").write_text("@misc{x, title={Y}}")

    def read(text):
        (tmp_path / "mine.toml").write_text(text)
        return read_suite(tmp_path / "mine.toml")

    return read


def test_a_task_with_settings_of_layout_and_protocol(toml, tmp_path):
    suite = toml(HEAD + 'data = "ozone"\nsplit = "dev"\nwithout_itself = true\ndistance = "dot"\nfields = ["title"]\n')
    (task,) = suite.tasks
    assert suite.name == "mine" and (task.name, task.format, task.fields) == ("find", "search", ("title",))
    assert task.protocol == RetrieveProtocol(metrics=("ndcg@10",), distance="dot")
    home = str(tmp_path / "ozone")
    assert task.data.data == CustomCorpus(data=home, split=("dev",), without_itself=True)
    assert [name for name, _ in task.data.files] == ["ozone/papers.csv"]


QUERIES = {"queries.tsv": "id\ttext\nq1\twhat\n", "papers.csv": "id,title,label\n1,A,x\n2,B,y\n"}
FOLDERS = {
    "rerank": {**QUERIES, "qrels.tsv": "q1\t0\t1\t1\n"},
    "retrieve": {**QUERIES, "qrels/test.tsv": "q1\t0\t1\t1\n"},
    "probe": {f"{part}.csv": f"id,title,label\n{part},A,x\n{part}2,B,y\n" for part in ("train", "valid", "test")},
    "label": {"papers.csv": "id,title,labels\n1,A,x\n", "labels.csv": "id,name\nx,X\n"},
    "match": {
        "papers.csv": QUERIES["papers.csv"],
        "reviewers.csv": "reviewer_id,papers\nr,2\n",
        "ratings.csv": "paper_id,reviewer_id,rating\n1,r,2\n",
    },
    "cluster": {
        "papers.csv": QUERIES["papers.csv"],
        "signatures.csv": "signature_id,paper_id,name,author_id\ns,1,A B,a\nt,2,A B,a\n",
    },
    "tag": {f"{part}.tsv": "a\tO\n\n" for part in ("train", "devel", "test")},
    "pair": {f"{part}.jsonl": '{"text": "a", "label": "x"}\n' for part in ("train", "dev", "test")},
    "span": {f"{part}.json": '{"data": []}' for part in ("train", "dev", "test")},
}
METRICS = {"rerank": "ndcg", "retrieve": "ndcg@10", "label": "recall@5", "match": "good p@5", "cluster": "b3"}
METRICS |= {"tag": "entity_f1", "span": "f1"}


@pytest.fixture(scope="module")
def opened():
    """Return the names of the files that are opened, empty again after a test."""
    names, is_over = [], []

    def note(event, arguments):
        if event == "open" and not is_over and isinstance(arguments[0], str | PathLike):
            names.append(fspath(arguments[0]))

    sys.addaudithook(note)  # which stays to the end of the process
    yield names
    is_over.append(True)


@pytest.mark.parametrize("protocol", FOLDERS)
def test_no_file_is_opened_that_no_layout_names(tmp_path, opened, protocol):
    home = tmp_path / "home"
    others = ("secret.json", "mail.csv", "packed.npz", ".train.csv", "papers/.hidden", "sub/papers.csv", "sub/a/b.json")
    for name, text in {**FOLDERS[protocol], **dict.fromkeys(others, "not to be read")}.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    os.mkfifo(home / "qrels.pipe")  # to open it would take forever
    levels = 'levels = [["good", 2.5]]\n' if protocol == "match" else ""
    head = HEAD.replace("retrieve", protocol).replace("ndcg@10", METRICS.get(protocol, "f1_macro"))
    (tmp_path / "mine.toml").write_text(f'{head}data = "home"\n{levels}')
    opened.clear()
    (task,) = read_suite(tmp_path / "mine.toml").tasks
    with suppress(InputError):  # of too few papers
        task.data.read(DataRoot())
    found = {str(Path(name).relative_to(home)) for name in opened if name.startswith(f"{home}{os.sep}")}
    assert found == set(FOLDERS[protocol]) == {name.removeprefix("home/") for name, _ in task.data.files}


def test_defaults_of_custom_probes_follow_from_the_metric(toml):
    """Published suites have the papers' probes: no intercept, targets as they are (test_task_keys)."""
    probe = HEAD.replace("retrieve", "probe").replace("ndcg@10", "kendall_tau") + 'data = "ozone/papers.csv"\n'
    (task,) = toml(probe).tasks
    wanted = ProbeProtocol(metric="kendall_tau", loss="epsilon_insensitive", intercept=True, standardize_targets=True)
    assert task.protocol == wanted
    (task,) = toml(probe + "intercept = false\nstandardize_targets = false\n").tasks
    assert task.protocol == ProbeProtocol(metric="kendall_tau", loss="epsilon_insensitive")
    assert isinstance(task.data.data, LabelledTable) and task.data.data.target == "number"
    (task,) = toml(probe.replace("kendall_tau", "f1_macro") + "folds = 5\ngrid = [1, 10]\n").tasks
    assert task.protocol == ProbeProtocol(metric="f1_macro", folds=5, grid=(1.0, 10.0))


def test_fine_tuning_settings_are_in_the_same_file(toml):
    head = HEAD.replace("retrieve", "pair").replace("ndcg@10", "pearson")
    task = toml(head + 'data = "ozone"\ntuning = { rates = [1e-4], epochs = [3], seeds = 2 }\n').tasks[0]
    assert task.protocol.tuning == Tuning(rates=(1e-4,), epochs=(3,), seeds=2) and task.seeds == 2
    assert '"target": "number"' in task.data.settings


@pytest.mark.parametrize(
    ("protocol", "setting", "message"),
    [
        ("cluster", "repeats = 0", "repeats is 0: Input should be greater than or equal to 1"),
        ("match", "best = 0", "best is 0: "),
        ("span", "max_empty_windows = -1", "max_empty_windows is -1: Input should be greater than or equal to 0"),
        ("probe", "few_shot = [{ size = 1, iterations = 2 }]", "few_shot is .*: Input should be greater than .* 2"),
        ("pair", "tuning = { dropout = 1.0 }", "tuning is .*: Input should be less than 1"),
        ("pair", "tuning = { rates = [0.0] }", r"tuning is .*: .*different numbers above 0"),
    ],
)
def test_numbers_out_of_their_range_are_refused(toml, protocol, setting, message):
    head = HEAD.replace("retrieve", protocol).replace("ndcg@10", METRICS.get(protocol, "f1_macro"))
    with pytest.raises(InputError, match=message):
        toml(f'{head}data = "ozone"\n{setting}\n')


def test_other_data_make_another_task(toml, tmp_path):
    text = HEAD + 'data = "ozone"\n'
    before = toml(text).tasks[0].key
    assert toml(text).tasks[0].key == before
    (tmp_path / "ozone" / ".notes").write_text("changed")
    assert toml(text).tasks[0].key == before
    (tmp_path / "ozone" / "papers.csv").write_text("id,title\n1,B\n")
    assert toml(text).tasks[0].key != before


RETRIEVE = HEAD.partition("protocol")[2]
PAIR = ' = "pair"\nformat = "search"\nmetric = %s\n'


@pytest.mark.parametrize(
    "change, message",
    [
        (("name", "nome"), r"mine\.toml, task 1: no name; a task has at least name, protocol, format, metric"),
        (("find", "a/b"), "the name also names files"),
        (('"retrieve"', '"retreive"'), "task 'find': unknown protocol 'retreive'; did you mean 'retrieve'"),
        (('"search"', '"serch"'), "unknown format 'serch'; did you mean 'search'. known: classification"),
        (('"ndcg@10"', '"ncdg@10"'), "task 'find': .*ncdg"),
        (('"ozone"', '"ozon"'), "data is 'ozon', but there is no .*ozon"),
        (("# more", 'distence = "dot"'), "unknown key 'distence'; did you mean 'distance'. known: name, protocol"),
        (("# more", 'distance = "far"'), "distance is 'far': Input should be 'encoder', 'cosine'"),
        (("# more", 'fields = ["titel"]'), "unknown field 'titel'; did you mean 'title'"),
        (("# more", "split = 1979-05-27"), "split is .*not JSON serializable"),
        (("[[task]]", "[[tasks]]"), "no tasks; each begins with a line"),
        (("[[task]]", "other = 1\n[[task]]"), "unknown key 'other'; known: task"),
        (("name = ", "name "), r"mine\.toml: not TOML: .*line 2"),
        ((f'{RETRIEVE}data = "ozone"\n', PAIR % '"accuracy"'), "task 'find': no data"),
        (("[[task]]", f'{HEAD}data = "ozone"\n[[task]]'), "find declared twice"),
        ((RETRIEVE, PAIR % '["f1_macro", "accuracy"]'), "2 metrics, but this protocol takes one"),
    ],
)
def test_what_is_wrong_is_named(toml, change, message):
    text = HEAD + 'data = "ozone"\n# more\n'
    with pytest.raises(InputError, match=message):
        toml(text.replace(*change, 1))


def test_a_probe_has_several_metrics_and_a_list_of_one_is_that_one(toml):
    text = HEAD.replace("retrieve", "probe") + 'data = "ozone/papers.csv"\n'
    several, one = (
        toml(text.replace('"ndcg@10"', metrics)).tasks[0] for metrics in ('["f1_macro", "accuracy"]', '["accuracy"]')
    )
    assert several.protocol.metrics == ("f1_macro", "accuracy") and several.key != one.key
    assert one.protocol == ProbeProtocol(metric="accuracy")
    assert several.scored_protocol(["accuracy"]).metrics == ("f1_macro",)


SHARED = """
[template.rank]
format = "proximity"
protocol = "rerank"
metric = "map"
data = { layout = "scidocs-pools", folder = "a" }

[[task]]
like = "rank"
name = "one"
data = { relation = "cite" }

[[task]]
like = "rank"
name = "two"
metric = ["ndcg", "map"]
group = "pairs"
data = { relation = "cocite", folder = "b" }

[[average]]
name = "all"
tasks = ["one", "two"]

[[average]]
name = "pairs"
among = "all"
group = "pairs"

[[published]]
source = "a paper"
columns = ["all", "one"]
row = [{ name = "us", values = [81.6, nan], spread = [0.1, nan] }]
"""


def test_a_task_may_be_like_a_template_or_a_task_of_another_suite(toml, tmp_path):
    suite = toml(SHARED)
    one, two = suite.tasks
    assert one.data == SciDocsPools(relation="cite", folder="a") and one.protocol == RerankProtocol(metrics=("map",))
    assert two.data == SciDocsPools(relation="cocite", folder="b") and two.protocol.metrics == ("ndcg", "map")
    assert [average.tasks for average in suite.averages] == [("one", "two"), ("two",)]
    assert suite.published[0].scores == {"all": 81.6} and suite.published[0].not_printed == ("one",)
    (tmp_path / "other.toml").write_text('[[task]]\nlike = "mine/two"\nname = "three"\nmetric = "map"\n')
    (three,) = read_suite(tmp_path / "other.toml").tasks
    assert three == replace(two, name="three", protocol=RerankProtocol(metrics=("map",)))


@pytest.mark.parametrize(
    "change, message",
    [
        (('like = "rank"', 'like = "rang"'), "unknown template 'rang'; did you mean 'rank'"),
        (('like = "rank"', 'like = "mine/tow"'), "unknown task to be like 'tow'; did you mean 'two'"),
        (('"scidocs-pools"', '"scidoc-pools"'), "task 'one': unknown layout 'scidoc-pools'; did you mean"),
        (("relation =", "relatoin ="), "task 'one', data: unknown key 'relatoin'; did you mean 'relation'"),
        (("among =", "amongst ="), "unknown key 'amongst'; did you mean 'among'"),
        (("81.6, nan", "81.6, 'x'"), r"row\.0\.values\.1: Input should be a valid number"),
    ],
)
def test_messages_of_shared_settings(toml, change, message):
    with pytest.raises(InputError, match=message):
        toml(SHARED.replace(*change, 1))
