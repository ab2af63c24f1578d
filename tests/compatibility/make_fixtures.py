"""Write what a version of sciprism writes, so that tests can open it with later versions.

A maintainer runs this with the code of the version whose fixtures are wanted, before the version is released:

    PYTHONPATH=src python tests/compatibility/make_fixtures.py tests/compatibility/version_0_1

The folder holds `inputs/` (papers, tasks) and `recipes/`, written by hand with the names of that version.
For a new version, copy both to a new folder, change the names there and the options of the commands below,
and run the script once. The fixtures of a released version are never written again.

It writes the archives `models.zip`, `collections.zip`, `sources.zip`, `runs.zip` and `results.zip`, each with
folders as the commands leave them (without plots, logs and locks), and `expected.json`: the fingerprints,
vectors, search results, losses and scores that this version computes with them.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import zipfile
from collections import Counter
from io import StringIO
from pathlib import Path

import torch
from safetensors.torch import save_file

import observe
from observe import run_command
from sciprism import Encoder

SHAPE = {
    "model_type": "bert",
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
}
TOKENS = 200
"""Of the vocabulary: special tokens, characters, and the most frequent words of the papers."""
METHODS = {
    "control-codes": {"start": "cls"},
    "adapters": {"reduction": 4},
    "adapter-fusion": {"reduction": 4},
    "pals": {"size": 8, "heads": 2},
    "attention-experts": {"every": 2},
    "feedforward-experts": {"every": 2},
    "prefix": {"instructions": {"search": "find a paper", "proximity": "find a like paper"}},
    "instruction": {"instructions": {"search": "find a paper", "proximity": "find a like paper"}},
    "facets": {"facets": 2, "after": [1], "start": "kept"},
    "prism": {"weights": "bottleneck", "reduction": 4, "scaled": True},
}
"""Method -> options of its model; what is not stated here is short, so that it fits 64 tokens."""
SHORT = {"classification": "what is it about", "regression": "how old is it"}
DROPPED = re.compile(r"tensorboard/|curve\.png|\.lock|README\.md|(finished/.*|interrupted/language)/(best|checkpoint)/")
"""What nothing reads again."""
INTERRUPTED = "formats: step 3 of 6"
"""The progress line after which the second run is stopped."""
ABSOLUTE = re.compile(rb"(?<![\w.~:/])/(?:home|root|tmp|work|Users|opt|var|mnt)/")


def main(folder: Path) -> None:
    """Write all fixtures of one version into its folder."""
    folder = folder.resolve()
    torch.set_num_threads(1)  # equal digits on every machine with the same processor
    with tempfile.TemporaryDirectory() as work:
        os.environ["SCIPRISM_CACHE"] = str(Path(work) / "cache")
        os.environ["HF_HUB_OFFLINE"] = "1"
        os.environ.pop("SCIPRISM_DATA", None)
        work_folder = Path(work).resolve() / "work"
        work_folder.mkdir()
        os.chdir(work_folder)
        for name in ("inputs", "recipes"):
            shutil.copytree(folder / name, name)
        expected: dict = {}
        for step in (make_sources, make_models, make_collections, make_runs, make_results):
            step(expected)
        for name in ("models", "collections", "sources", "runs", "results"):
            pack(work_folder, name, folder / f"{name}.zip")
        text = json.dumps(expected, indent=1, ensure_ascii=False)
        text = re.sub(r"\[\s+(-?[\d.e-]+,\s+)+-?[\d.e-]+\s+\]", lambda m: " ".join(m[0].split()), text)
        (folder / "expected.json").write_text(text + "\n", encoding="utf-8")
        os.chdir(folder)


def make_sources(expected: dict) -> None:
    """Prepare training examples and token shards of the papers."""
    papers = "inputs/papers.jsonl"
    run_command(
        "prepare", "pairs", papers, "-o", "sources/pairs", "--dev", 0.2,
        "--shapes", "title-abstract,citing-cited-titles",
    )  # fmt: skip
    run_command("prepare", "citations", papers, "-o", "sources/triplets", "--dev", 0.2, "--set", "triplets=2")
    run_command(
        "prepare", "scirepeval", "--papers", papers, "--tables", "inputs/tables", "-o", "sources/kinds",
        "--dev", 0.1,
    )  # fmt: skip
    run_command(
        "prepare", "text", f"life={papers}", "-o", "sources/corpus", "--vocabulary", 300, "--length", 32,
        "--dev", 0.2, "--near", 0,
    )  # fmt: skip


def make_models(expected: dict) -> None:
    """Save a tiny model of each method, one with a lexical part, a compact one and an exported one."""
    backbone = Path("backbone")
    write_backbone(backbone)
    save_model(Encoder.load(backbone, pooling="mean", device="cpu"), "single")
    for number, (method, options) in enumerate(METHODS.items()):
        if "instructions" in options:
            options = {"instructions": SHORT | options["instructions"]}
        start = "models/adapters" if method == "adapter-fusion" else "models/single"
        encoder = Encoder.start(start, method=method, options=options, device="cpu", seed=number)
        change_weights(encoder, number)
        save_model(encoder, method)
    source = "sources/pairs/train/title-abstract.jsonl"
    run_command("prepare", "lexical", "models/single", source, "-o", "models/lexical", "--width", 4)
    run_command("export", "models/single", "-o", "models/compact", "--compact")
    run_command("export", "models/pals", "-o", "models/exported", "--format", "search")
    names = sorted(path.name for path in Path("models").iterdir())
    expected["models"] = {name: observe.observe_model(f"models/{name}") for name in names}


def write_backbone(folder: Path) -> None:
    """Write a BERT with fixed random weights, in the layout that transformers writes."""
    folder.mkdir()
    papers = Path("inputs/papers.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in papers]
    words = Counter(re.findall("[a-z]{2,}", " ".join(f"{r['title']} {r['abstract']}" for r in rows).lower()))
    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789"]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters), *".,?-"]
    tokens += [word for word, _ in sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))]
    (folder / "vocab.txt").write_text("\n".join(tokens[:TOKENS]) + "\n", encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(SHAPE | {"vocab_size": TOKENS}), encoding="utf-8")
    draw = torch.Generator().manual_seed(5)
    weights = {}

    def put(name: str, *shape: int, size: float = 0.15, middle: float = 0.0) -> None:
        weights[name] = middle + size * torch.randn(*shape, generator=draw)

    put("embeddings.word_embeddings.weight", TOKENS, 16, size=1.0)
    put("embeddings.position_embeddings.weight", 64, 16)
    put("embeddings.token_type_embeddings.weight", 2, 16)
    norms = ["embeddings.LayerNorm"]
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        square = (f"{layer}.attention.{x}" for x in ("self.query", "self.key", "self.value", "output.dense"))
        maps = dict.fromkeys(square, (16, 16))
        maps |= {f"{layer}.intermediate.dense": (32, 16), f"{layer}.output.dense": (16, 32)}
        for name, shape in maps.items():
            put(f"{name}.weight", *shape)
            put(f"{name}.bias", shape[0])
    for name in norms:
        put(f"{name}.weight", 16, middle=1.0)
        put(f"{name}.bias", 16)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def change_weights(encoder: Encoder, seed: int) -> None:
    """Move every weight, so that what began as copies differs."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, weight in sorted(encoder.model.named_parameters()):
            weight.add_(0.1 * torch.randn(weight.shape, generator=draw))
    encoder.prepare()


def save_model(encoder: Encoder, name: str) -> None:
    """Save a model with a provenance, as the end of a training run does."""
    encoder.save(f"models/{name}", recipe="made for this fixture", stage=name, step=3, seed=1)


def make_collections(expected: dict) -> None:
    """Embed the papers: with both indexes; as float16 in two spaces; as int8, in two shards."""
    papers = Path("inputs/papers.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("some.jsonl").write_text("".join(papers[:14]).replace("bent by", "near"), encoding="utf-8")
    whole = "inputs/papers.jsonl"
    plain, half, small = (f"collections/{name}" for name in ("plain", "half", "int8"))
    run_command("embed", whole, "-o", plain, "--model", "models/single")
    run_command("index", plain, "--lexical", "--approximate")
    run_command(
        "embed", whole, "-o", half, "--model", "models/control-codes", "--dtype", "float16",
        "--formats", "classification,search",
    )  # fmt: skip
    run_command("embed", "some.jsonl", "-o", small, "--model", "models/prism", "--dtype", "int8", "--formats", "all")
    run_command("embed", whole, "-o", small)  # a second shard, in which one text replaces an older one
    clean("collections")
    expected["searches"] = {
        name: {mode: observe.observe_search(f"collections/{name}", mode) for mode in modes}
        for name, modes in observe.SEARCHES.items()
    }
    similar = run_command("similar", small, "--to", "p1", "-k", 4, "--no-why", "--json")
    expected["similar"] = observe.rankings_in(similar)


class StopAt(StringIO):
    """Standard error that interrupts the command once a line of progress appears."""

    def write(self, text: str) -> int:
        """Keep the text; send what Ctrl-C sends where the line is there."""
        if INTERRUPTED in text:
            signal.raise_signal(signal.SIGINT)
        return super().write(text)


def make_runs(expected: dict) -> None:
    """Train the recipe of two stages, once to the end and once until its second stage is interrupted."""
    write_graph()
    train("runs/finished")
    try:
        train("runs/interrupted", stderr=StopAt())
    except SystemExit as stop:
        assert stop.code == 1
    else:
        raise AssertionError("the second run was not interrupted")
    expected["losses"] = observe.observe_losses(Path("runs/finished"))
    expected["interrupted"] = observe.observe_losses(Path("runs/interrupted"))
    expected["trained"] = [f"runs/finished/{stage}/model" for stage in expected["losses"]]
    expected["models"] |= {name: observe.observe_model(name) for name in expected["trained"]}


def train(run: str, stderr: StringIO | None = None) -> None:
    """Train the recipe in a folder."""
    options = ("--sources", "sources", "--data", "data", "--allow-overlap", "--device", "cpu")
    run_command("train", "recipes/run.toml", "-o", run, *options, stderr=stderr)


def write_graph() -> None:
    """Write papers that cite each other in the layout of the open data, for `open/vis-citation-retrieval`."""
    lines = Path("inputs/papers.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    for n, row in enumerate(rows):
        row |= {"id": f"10.1/{n}", "venue": "Vis", "year": 2016}
        row["references"] = [f"10.1/{m}" for m in range(max(0, n - 3), n)]
    path = Path("sources/data/citegraph_vis/papers.jsonl.gz")
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode(), mtime=0))
    Path("data").symlink_to("sources/data")


def make_results(expected: dict) -> None:
    """Score a model, BM25 and random vectors on every task, and a table of a paper on the open tasks."""
    tasks = ("--tasks", "inputs/tasks.toml", "-o", "results/tasks")
    run_command("evaluate", "models/single", "bm25", "random", *tasks)
    options = ("--task", "find-papers", "--as-format", "proximity", "--seed", 1)
    run_command("evaluate", "models/prism", *tasks, *options)
    os.environ["SCIPRISM_DATA"] = "data"
    table = ("scimult", 5, "--data", "open", "--quick", "--only", "vanilla", "--results", "results/scimult")
    run_command("reproduce", *table, "--models", "inputs/models.toml")
    shown = run_command("reproduce", *table, "--kept")
    del os.environ["SCIPRISM_DATA"]
    results = [json.loads(path.read_text("utf-8")) for path in sorted(Path("results/tasks").rglob("*.json"))]
    names = sorted({result["task"] for result in results})
    compared = run_command("compare", "results/tasks", "--baseline", "single", "--format", "markdown")
    expected["compare"] = observe.observe_table(compared, names)
    expected["reproduce"] = observe.observe_table(shown, ["Vanilla"])
    clean("results")


def clean(folder: str) -> None:
    """Make paths in a folder's texts relative to the working folder, where all fixtures lie."""
    for path in Path(folder).rglob("*.json*"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f"{Path.cwd()}/", ""), encoding="utf-8")


def pack(work_folder: Path, name: str, archive: Path) -> None:
    """Write a folder's files into an archive with equal bytes each time. Refuse paths of this machine."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for path in sorted(filter(Path.is_file, (work_folder / name).rglob("*"))):
            inside = path.relative_to(work_folder).as_posix()
            if DROPPED.search(inside):
                continue
            content = path.read_bytes()
            assert not ABSOLUTE.search(content), f"{inside} holds a path of this machine"
            file.writestr(zipfile.ZipInfo(inside), content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
