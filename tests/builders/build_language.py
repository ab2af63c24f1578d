"""Small data sets in the layouts of BLURB, LinkBERT's copy of it, NASA-QA and Climate-Change NER."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from build_data import lines, text

COUNT = 12
PARTS = ("train", "dev", "test")
CLASSES = {
    "chemprot": ("CPR:4", "false", "CPR:9"),
    "ddi": ("DDI-effect", "DDI-false", "DDI-int"),
    "gad": ("1", "0"),
    "bioasq": ("yes", "no"),
    "pubmedqa": ("yes", "no", "maybe"),
}
TOPICS = ("protein gene cell", "black hole galaxy", "deep neural network")
TAGS = {"ebm-pico": ("B-PAR", "B-INT", "B-OUT"), "jnlpba": ("B-DNA", "B-protein", "B-RNA")}


def words(number: int) -> str:
    """A text of one topic that no other number has."""
    return f"{TOPICS[number % 3]} study {number}"


def blurb_package(home: Path, name: str, folder: str) -> None:
    """Write one set as BLURB's package lays it out, in `data`."""
    for place, part in enumerate(PARTS):
        base = home / "data" / folder
        numbers = range(COUNT * place, COUNT * (place + 1))
        if name == "pubmedqa":
            whole = {
                str(n): {"QUESTION": words(n), "CONTEXTS": ["It is.", "So."], "final_decision": label(name, n)}
                for n in numbers
            }
            inside = "test_set.json" if part == "test" else f"pqal_fold0/{part}_set.json"
            text(base / inside, json.dumps(whole, indent=4))
        else:
            text(base / f"{part}.tsv", "".join("\t".join(row) + "\n" for row in table(name, numbers)))


def table(name: str, numbers: Iterable[int]) -> Iterable[tuple[str, ...]]:
    """The rows of a set's table, those of words and tags among them."""
    if name in ("gad", "biosses", "hoc"):
        yield {"gad": ("index", "sentence", "label"), "hoc": ("label", "sentence", "index")}.get(
            name, ("index", "sentence1", "sentence2", "score")
        )
    for n in numbers:
        if name == "hoc":
            held = ",".join(f"{place}_{int(place == n % 3)}" for place in range(10))
            yield from ((held, words(n), f"{n}_0"), (held, "So .", f"{n}_1"))
        elif name == "biosses":
            yield (str(n), words(n), words(n + 1), f"{n % 5}.5")
        elif name == "bioasq":
            yield (str(n), words(n), "It is.", label(name, n))
        elif name in CLASSES:
            yield (str(n), words(n), label(name, n))
        else:
            yield from sentence(name, n)


def sentence(name: str, number: int) -> Iterable[tuple[str, ...]]:
    """A sentence, one word a row, its first word tagged; an empty row behind."""
    for place, word in enumerate(words(number).split()):
        yield (word, TAGS.get(name, ("B",))[number % len(TAGS.get(name, ("B",)))] if not place else "O")
    yield ("",)


def label(name: str, number: int) -> str:
    """The class of a text, which its topic tells."""
    return CLASSES[name][number % 3 % len(CLASSES[name])]


def linkbert_copy(home: Path, name: str, folder: str) -> None:
    """Write one set as LinkBERT's copy lays it out, in `linkbert/data`."""
    kind = "seqcls" if name in (*CLASSES, "biosses", "hoc") else "tokcls"
    for place, part in enumerate(PARTS):
        rows = [linkbert_row(name, n) for n in range(COUNT * place, COUNT * (place + 1))]
        lines(home / f"linkbert/data/{kind}/{folder}_hf/{part}.json", rows)


def linkbert_row(name: str, n: int) -> dict[str, Any]:
    """One line of it."""
    if name in ("pubmedqa", "bioasq"):
        context = "It is. So." if name == "pubmedqa" else "It is."
        return {"id": str(n), "sentence1": words(n), "sentence2": context, "label": label(name, n)}
    if name == "biosses":
        return {"id": str(n), "sentence1": words(n), "sentence2": words(n + 1), "label": n % 5 + 0.5}
    if name == "hoc":
        held = [int(place == n % 3) for place in range(10)]
        return {"id": str(n), "sentence": f"{words(n)} So .", "label": held}
    if name in CLASSES:
        said = label(name, n)
        return {"id": str(n), "sentence": words(n), "label": "0" if "false" in said else said}
    rows = [row for row in sentence(name, n) if len(row) > 1]
    return {"id": str(n), "tokens": [word for word, _ in rows], "ner_tags": [tag for _, tag in rows]}


def climate(home: Path) -> None:
    """Write Climate-Change NER."""
    for part in ("train", "val", "test"):
        rows = [
            f"-DOCSTART- -X- O O {n}\n\n"
            + "".join(
                f"{word}\t{'B-climate-nature' if not place else 'O'}\n" for place, word in enumerate(words(n).split())
            )
            + "\n"
            for n in range(COUNT)
        ]
        text(home / f"ibm-research/Climate-Change-NER/en.{part}.txt", "".join(rows))


def nasa(home: Path) -> None:
    """Write NASA-QA and the articles of SQuAD-2 that are trained on beside it."""
    base = home / "nasa-impact/nasa-smd-qa-benchmark"
    for part in ("train", "val"):
        text(base / f"es_qa_sq2format_{part}.v2.json", json.dumps(squad(["t1"])))
    text(home / "squad/train-v2.0.json", json.dumps(squad(["Oxygen", "Chopin"])))
    text(home / "squad/dev-v2.0.json", json.dumps(squad(["Amazon_rainforest", "Geology"])))


def squad(titles: Iterable[str]) -> dict[str, Any]:
    """Articles in SQuAD's layout, every third question impossible."""
    return {
        "version": "v2.0",
        "data": [
            {
                "title": title,
                "paragraphs": [{"context": f"All of {words(n)} it is.", "qas": [asked(n)]} for n in range(COUNT)],
            }
            for title in titles
        ],
    }


def asked(number: int) -> dict[str, Any]:
    """A question about the topic of a text."""
    topic = TOPICS[number % 3]
    answers = [] if number % 3 == 2 else [{"text": topic, "answer_start": len("All of ")}]
    return {"id": f"q{number}", "question": "what is it of", "is_impossible": not answers, "answers": answers}
