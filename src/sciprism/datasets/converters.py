"""Convert data sets from the form in which their owners publish them into the layout that the suites read.

A converter is a function of the published files, name -> bytes: the names of the manifest (`published.toml`), or
those inside an archive. It returns the files of the data set's folder, name -> rows: objects for `.jsonl.gz`, tuples
for `.tsv`, one object for `.json`. What cannot be converted raises: `fetching` says of which data set it is.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from sciprism.datasets.layouts.texts import locate_answer
from sciprism.datasets.layouts.words import read_tagged_lines
from sciprism.errors import InputError
from sciprism.papers.cleaning import normalize_unicode
from sciprism.papers.input_file import guess_encoding, has_invalid_utf8, redecode
from sciprism.registry import Registry

Files = Mapping[str, bytes]
Folder = dict[str, Any]  # name of a file -> its rows, or its one object

CONVERTERS: Registry[Callable[[Files], Folder]] = Registry("converter")
QRELS = ("query-id", "corpus-id", "score")


def decode(content: bytes) -> str:
    """Return the text of a file: UTF-8, else the encoding that its bytes look like; line ends as `\\n`."""
    text = content.decode("utf-8-sig", "surrogateescape")
    if has_invalid_utf8(text):
        text = redecode(text, guess_encoding([text]))
    return text.replace("\r\n", "\n")


def fold(text: str) -> str:
    """Return a text with one space wherever it has any, and none at its ends."""
    return " ".join(text.split())


def find(files: Files, name: str) -> str:
    """Return the text of the one file of a name, in whatever folder of an archive. Raises InputError for none."""
    found = [name] if name in files else [path for path in files if path.endswith(f"/{name}")]
    if len(found) != 1:
        raise InputError(f"{name}: {len(found)} such files in the download; the form has changed at its owner's")
    return decode(files[found[0]])


def read_json_lines(files: Files, name: str) -> list[Any]:
    """Return the object of each line of a file that is not empty."""
    return [json.loads(line) for line in find(files, name).split("\n") if line.strip()]


def read_table(files: Files, name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a tab-separated file, by the names in its first line."""
    yield from csv.DictReader(find(files, name).split("\n"), delimiter="\t")


@CONVERTERS.register("word-tags")
def convert_word_tags(files: Files) -> Folder:
    """Read sentences of words with tags: a word a line, its tag last, an empty line between sentences (CoNLL).

    The manifest names each file after its part ("train.tsv").
    """
    return {_name_part(name): list(_read_sentences(name, decode(text))) for name, text in files.items()}


def _name_part(name: str) -> str:
    return f"{name.partition('.')[0]}.jsonl.gz"


def _read_sentences(name: str, text: str) -> Iterator[dict[str, Any]]:
    """Yield the sentences. Tags without a beginning ("I-PAR" after "O") get one, and comments of files are skipped."""
    for line, words, tags in read_tagged_lines(enumerate(text.split("\n"), 1)):
        if "" in tags:
            raise InputError(f"{name}, line {line}: a sentence with a word without a tag")
        for place, (before, tag) in enumerate(pairwise(["O", *tags])):
            if tag.startswith("I-") and before[1:] != tag[1:]:
                tags[place] = f"B-{tag[2:]}"
        yield {"tokens": words, "tags": tags}


@CONVERTERS.register("labelled-texts")
def convert_labelled_texts(files: Files) -> Folder:
    """Read JSON lines with text and label, a file a part; what else they hold is not needed."""
    read = {name: read_json_lines(files, name) for name in files}
    return {_name_part(name): [{key: row[key] for key in ("text", "label")} for row in read[name]] for name in read}


@CONVERTERS.register("pubmedqa")
def convert_pubmedqa(files: Files) -> Folder:
    """Read PubMedQA's labelled part; the questions of `test_ground_truth.json` are the test."""
    test = json.loads(find(files, "test_ground_truth.json")).keys()
    parts: dict[str, list[Any]] = {"train.jsonl.gz": [], "test.jsonl.gz": []}
    for key, found in json.loads(find(files, "ori_pqal.json")).items():
        row = {
            "id": key,
            "question": found["QUESTION"],
            "contexts": found["CONTEXTS"],
            "answer": found["final_decision"],
        }
        parts["test.jsonl.gz" if key in test else "train.jsonl.gz"].append(row)
    return parts


@CONVERTERS.register("covid-qa")
def convert_covid_qa(files: Files) -> Folder:
    """Read COVID-QA (SQuAD's form); an answer that is not at its stated offset is searched for near it."""
    documents, questions = [], []
    for article in json.loads(find(files, "covid-qa.json"))["data"]:
        for paragraph in article["paragraphs"]:
            key, context = str(paragraph["document_id"]), paragraph["context"]
            documents.append({"id": key, "context": context})
            for question in paragraph["qas"]:
                row = {"id": str(question["id"]), "document_id": key, "question": question["question"]}
                questions.append(row | {"answers": [_place(context, answer) for answer in question["answers"]]})
    return {"documents.jsonl.gz": documents, "questions.jsonl.gz": questions}


def _place(context: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer, without space at its ends, with the place of its text that is nearest to the stated one."""
    text = answer["text"].strip()
    stated = int(answer["answer_start"]) + answer["text"].find(text)
    found = locate_answer(context, text, stated)
    return {"text": text, "answer_start": found.start if found else stated}


@CONVERTERS.register("scifact")
def convert_scifact(files: Files) -> Folder:
    """Read SciFact's release: the abstracts, the claims, and as qrels the abstracts that each claim cites."""
    corpus = [
        {"_id": str(row["doc_id"]), "title": row["title"], "text": fold(" ".join(row["abstract"]))}
        for row in read_json_lines(files, "corpus.jsonl")
    ]
    folder: Folder = {"corpus.jsonl.gz": corpus, "queries.jsonl.gz": []}
    for part in ("train", "dev"):
        claims = read_json_lines(files, f"claims_{part}.jsonl")
        folder["queries.jsonl.gz"] += [{"_id": str(row["id"]), "text": row["claim"]} for row in claims]
        cited = {(int(row["id"]), int(name)) for row in claims for name in row["cited_doc_ids"]}
        folder[f"qrels/{part}.tsv"] = [QRELS, *((claim, name, 1) for claim, name in sorted(cited))]
    folder["queries.jsonl.gz"].sort(key=lambda row: int(row["_id"]))
    return folder


def _read_smart(text: str) -> Iterator[dict[str, list[str]]]:
    """Yield the records of a file of the SMART system, field (".T") -> its lines; ".I 7" begins record 7."""
    record: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith(".I "):
            if record:
                yield record
            record = {"I": [line[3:].strip()]}
        elif re.fullmatch(r"\.[A-Z]\s*", line):
            lines = record.setdefault(line[1], [])
        else:
            lines.append(line)
    if record:
        yield record


def _join(record: Mapping[str, Sequence[str]], field: str) -> str:
    return fold(" ".join(record.get(field, ())))


@CONVERTERS.register("cranfield")
def convert_cranfield(files: Files) -> Folder:
    """Read the Cranfield collection. A judgement of code 1 to 4 becomes a score of 4 to 1; code -1 is set apart.

    Queries are numbered from 1 in their order, as the judgements number them. The abstract repeats the title.
    """
    corpus = []
    for record in _read_smart(find(files, "cran.all.1400")):
        title, text = _join(record, "T"), _join(record, "W").removeprefix(_join(record, "T")).strip()
        corpus.append({"_id": record["I"][0], "title": title.removesuffix(".").rstrip(), "text": text})
    grades: dict[tuple[int, int], int] = {}
    apart = []
    for cells in (line.split() for line in find(files, "cranqrel").split("\n") if line.strip()):
        query, document, code = map(int, cells)
        if code < 0:
            apart.append((query, document))
        else:
            grades[query, document] = max(5 - code, grades.get((query, document), 0))
    queries = enumerate(_read_smart(find(files, "cran.qry")), 1)
    return {
        "corpus.jsonl.gz": corpus,
        "queries.jsonl.gz": [{"_id": str(number), "text": _join(record, "W")} for number, record in queries],
        "qrels/test.tsv": [QRELS, *((*pair, grades[pair]) for pair in sorted(grades))],
        "minus_one_documents.tsv": [QRELS[:2], *apart],
    }


@CONVERTERS.register("cacm")
def convert_cacm(files: Files) -> Folder:
    """Read the CACM collection; its cross-references of type 5 are the citation links, without direction."""
    corpus = []
    links: set[tuple[int, int]] = set()
    for record in _read_smart(find(files, "cacm.all")):
        key = record["I"][0]
        year = re.search(r"(19\d\d)", _join(record, "B"))
        facts = {"year": int(year[1]) if year else None}
        corpus.append({"_id": key, "title": _join(record, "T"), "text": _join(record, "W"), "metadata": facts})
        for cells in map(str.split, record.get("X", ())):
            if len(cells) == 3 and cells[1] == "5" and cells[0] != key:
                links.add((min(int(key), int(cells[0])), max(int(key), int(cells[0]))))
    queries = [{"_id": row["I"][0], "text": _join(row, "W")} for row in _read_smart(find(files, "query.text"))]
    judged = [line.split()[:2] for line in find(files, "qrels.text").split("\n") if line.strip()]
    return {
        "corpus.jsonl.gz": corpus,
        "queries.jsonl.gz": queries,
        "qrels/test.tsv": [QRELS, *((int(query), int(document), 1) for query, document in judged)],
        "citation_links.tsv": [("paper-id", "paper-id-2"), *sorted(links)],
    }


@CONVERTERS.register("npl")
def convert_npl(files: Files) -> Folder:
    """Read the NPL (Vaswani) collection: number, lines, and a slash at the end of each record."""
    documents = [(key, text) for key, text in _read_slashed(find(files, "doc-text")) if text]
    queries = list(_read_slashed(find(files, "query-text")))
    judged = [(query, name) for query, names in _read_slashed(find(files, "rlv-ass")) for name in names.split()]
    return {
        "corpus.jsonl.gz": [{"_id": key, "title": "", "text": text} for key, text in documents],
        "queries.jsonl.gz": [{"_id": key, "text": text.lower()} for key, text in queries],
        "qrels/test.tsv": [QRELS, *((query, name, 1) for query, name in judged)],
    }


def _read_slashed(text: str) -> Iterator[tuple[str, str]]:
    for record in re.split(r"^\s*/\s*$", text, flags=re.MULTILINE):
        key, _, rest = record.strip().partition("\n")
        if key:
            yield key.strip(), fold(rest)


@CONVERTERS.register("csfcube")
def convert_csfcube(files: Files) -> Folder:
    """Read CSFCube: abstracts, and for each facet the adjudicated grades of the candidates."""
    papers = {}
    for row in read_json_lines(files, "abstracts-csfcube-preds.jsonl"):
        facts = {"year": row.get("metadata", {}).get("year")}
        key = str(row["paper_id"])
        papers[key] = {"_id": key, "title": row["title"], "text": " ".join(row["abstract"]), "metadata": facts}
    queries, grades = [], []
    for facet in ("background", "method", "result"):
        for key, pool in json.loads(find(files, f"test-pid2anns-csfcube-{facet}.json")).items():
            name, paper = f"{key}_{facet}", papers[key]
            text = f"{paper['title']}. {paper['text']}"
            queries.append({"_id": name, "text": text, "metadata": {"paper_id": key, "facet": facet}})
            pairs = zip(pool["cands"], pool["relevance_adju"], strict=True)
            grades += [(name, str(cited), grade) for cited, grade in pairs]
    return {
        "corpus.jsonl.gz": list(papers.values()),
        "queries.jsonl.gz": sorted(queries, key=lambda row: str(row["_id"])),
        "qrels/test.tsv": [QRELS, *sorted(grades)],
    }


@CONVERTERS.register("mesh-tree-numbers")
def convert_mesh(files: Files) -> Folder:
    """Read a table of MeSH descriptors, and one of their tree numbers; Female and Male have none."""
    numbers: dict[str, list[str]] = {row["mesh_id"]: [] for row in read_table(files, "terms.tsv")}
    for row in read_table(files, "tree-numbers.tsv"):
        numbers[row["mesh_id"]].append(row["mesh_tree_number"])
    names = {row["mesh_id"]: row["mesh_name"] for row in read_table(files, "terms.tsv")}
    rows = [{"id": key, "name": names[key], "tree_numbers": numbers[key]} for key in sorted(names)]
    return {"descriptors.jsonl.gz": rows}


@CONVERTERS.register("reviewer-gold-standard")
def convert_reviewers(files: Files) -> Folder:
    """Read the gold standard of reviewers' expertise: profiles of papers and participants, a table of ratings."""
    papers = []
    for name in sorted(files):
        if "/data/papers/" in f"/{name}":
            row = json.loads(decode(files[name]))
            papers.append({"id": row["ssId"], **{key: row[key] for key in ("title", "abstract", "year", "authors")}})
    people = [json.loads(decode(files[name])) for name in sorted(files) if "/data/participants/" in f"/{name}"]
    ratings = []
    for row in read_table(files, "evaluations.csv"):
        for number in range(1, 11):
            paper, expertise = row.get(f"Paper{number}"), row.get(f"Expertise{number}")
            if paper and expertise and paper != "no_ss":  # a paper that Semantic Scholar lacks
                ratings.append((row["ParticipantID"], paper, float(expertise)))
    written = {str(row["authorId"]): [paper["paperId"] for paper in row["papers"]] for row in people}
    columns = ("reviewer_id", "paper_id", "expertise")
    return {
        "papers.jsonl.gz": papers,
        "evaluations.jsonl.gz": [dict(zip(columns, rating, strict=True)) for rating in ratings],
        "reviewers.jsonl.gz": [{"reviewer_id": name, "paper_ids": ids} for name, ids in written.items()],
    }


@CONVERTERS.register("ohsumed-single-label")
def convert_ohsumed(files: Files) -> Folder:
    """Read Ohsumed, a file a record in a folder a class: the title on the first line, the abstract below."""
    parts: dict[str, list[Any]] = {"train.jsonl.gz": [], "test.jsonl.gz": []}
    for path in sorted(files):
        *_, part, label, key = path.split("/")
        title, _, abstract = decode(files[path]).partition("\n")
        row = {"id": key, "title": fold(title).removesuffix("."), "abstract": fold(abstract)}
        row |= {"label": label, "label_name": OHSUMED.split("; ")[int(label[1:]) - 1]}
        parts["train.jsonl.gz" if part == "training" else "test.jsonl.gz"].append(row)
    return parts


OHSUMED = (
    "Bacterial Infections and Mycoses; Virus Diseases; Parasitic Diseases; Neoplasms; Musculoskeletal Diseases; "
    "Digestive System Diseases; Stomatognathic Diseases; Respiratory Tract Diseases; Otorhinolaryngologic Diseases; "
    "Nervous System Diseases; Eye Diseases; Urologic and Male Genital Diseases; Female Genital Diseases and Pregnancy "
    "Complications; Cardiovascular Diseases; Hemic and Lymphatic Diseases; Neonatal Diseases and Abnormalities; Skin "
    "and Connective Tissue Diseases; Nutritional and Metabolic Diseases; Endocrine Diseases; Immunologic Diseases; "
    "Disorders of Environmental Origin; Animal Diseases; Pathological Conditions, Signs and Symptoms"
)
"""MeSH's names of the classes C01 to C23, which the data set has by number only."""


@CONVERTERS.register("hallmarks")
def convert_hallmarks(files: Files) -> Folder:
    """Read the Hallmarks of Cancer corpus: a sentence a line, its labels between "<"; the split is a table of ids.

    The files of the split are tables whose last column begins with the abstract's id ("22355784_s0").
    """
    folder: Folder = {}
    short = {"/".join(path.split("/")[-2:]): content for path, content in files.items()}
    for part in ("train", "dev", "test"):
        lines = find(files, f"{part}.tsv").split("\n")[1:]
        keys = {line.rpartition("\t")[2].partition("_")[0] for line in lines if line.strip()}
        folder[f"{part}.jsonl.gz"] = [_read_hallmarks(short, key) for key in sorted(keys)]
    return folder


def _read_hallmarks(files: Files, key: str) -> dict[str, Any]:
    sentences = [line for line in find(files, f"text/{key}.txt").split("\n") if line.strip()]
    cells = find(files, f"labels/{key}.txt").split("<")[1:]
    if len(cells) != len(sentences):
        raise InputError(f"labels/{key}.txt: labels of {len(cells)} sentences, text/{key}.txt has {len(sentences)}")
    labels = {part.strip() for cell in cells for part in cell.split(" AND")} - {"", "NULL"}
    top = sorted({name.partition("--")[0] for name in labels})
    return {"id": key, "text": " ".join(sentences), "labels": top}


@CONVERTERS.register("s2orc-sample")
def convert_s2orc_sample(files: Files) -> Folder:
    """Read S2ORC's sample of metadata: papers with an abstract and their fields of study."""
    papers = []
    for row in read_json_lines(files, "sample.jsonl"):
        if row["abstract"]:
            venue = normalize_unicode("NFC", row["journal"] or row["venue"] or "")
            paper = {"id": f"s2:{row['paper_id']}", "title": row["title"], "abstract": fold(row["abstract"])}
            papers.append(paper | {"year": row["year"], "venue": venue, "fields": row["mag_field_of_study"] or []})
    return {"papers.jsonl.gz": papers}
