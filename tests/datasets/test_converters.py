"""Converters: files in the form in which owners publish them become the rows that the suites read."""

import json

import pytest

from sciprism.datasets.converters import CONVERTERS
from sciprism.errors import InputError

QRELS = ("query-id", "corpus-id", "score")
CRANFIELD = {
    "cran/cran.all.1400": """.I 1
.T
lift of a wing
in a slipstream .
.A
doe,j.
.B
j. of wings 1, 1958, 3.
.W
lift of a wing
in a slipstream .
  the lift   was measured .
.I 2
.T
.A
.B
.W
""",
    "cran/cran.qry": ".I 001\n.W\nwhat lifts\na wing .\n.I 004\n.W\nwhat is drag .\n",
    "cran/cranqrel": "1 2 2\n1 1 1\n1 1 3\n2 1 -1\n2 2 4\n",
}
CACM = {
    "cacm.all": """.I 1
.T
A Language
.W
It is described.
.B
CACM December, 1958
.A
Doe, J.
Roe,R.
.K
code, standard code
.C
1.0 2.43
.N
CA581203 JB
.X
2\t5\t1
1\t5\t1
3\t4\t1
.I 2
.T
Another
.B
CACM January, 1960
.X
1\t5\t2
""",
    "query.text": ".I 1\n.W\n What of TSS?\n.N\n 1. Doe\n",
    "qrels.text": "01 0002  0 0\n",
}
NPL = {
    "doc-text": "\n1\nfast  digital\nstores\n   /\n2\n   /\n3\nwave guides\n   /\n",
    "query-text": "1\nMEASUREMENT OF WAVES\n/\n",
    "rlv-ass": "1\n   1    3\n   /\n",
}
SCIFACT = {
    "data/corpus.jsonl": '{"doc_id": 7, "title": "T", "abstract": ["One. ", "Two."], "structured": false}\n',
    "data/claims_train.jsonl": '{"id": 2, "claim": "C", "evidence": {"7": [{"sentences": [1], "label": "SUPPORT"}]}, '
    '"cited_doc_ids": [7, 7]}\n',
    "data/claims_dev.jsonl": '{"id": 1, "claim": "D", "evidence": {}, "cited_doc_ids": [7]}\n',
}
POOL = {"5": {"cands": ["9", "8"], "relevance_adju": [0, 3], "relevance_ann1": [0, 1]}}
CSFCUBE = {
    "abstracts-csfcube-preds.jsonl": "".join(
        json.dumps({"paper_id": key, "title": "T", "abstract": ["A.", "B."], "pred_labels": labels, "metadata": {}})
        + "\n"
        for key, labels in (("5", ["background_label", "other"]), ("8", ["method_label"] * 2), ("9", ["other"] * 2))
    ),
    "test-pid2anns-csfcube-background.json": "{}",
    "test-pid2anns-csfcube-method.json": json.dumps(POOL),
    "test-pid2anns-csfcube-result.json": "{}",
    "evaluation_splits.json": '{"method": {"fold1_dev": ["5_method"]}}',
}
HALLMARKS = {
    "h-1/text/11.txt": "One .\nTwo .\n",
    "h-1/labels/11.txt": "< <Resisting cell death--Apoptosis ANDAvoiding immune destruction--Immune response",
    "h-1/text/12.txt": "Three .\n",
    "h-1/labels/12.txt": "< ",
    "train.tsv": "labels\tsentence\tindex\n0_0\tOne .\t11_s0\n0_0\tTwo .\t11_s1\n",
    "dev.tsv": "labels\tsentence\tindex\n0_0\tThree .\t12_s0\n",
    "test.tsv": "labels\tsentence\tindex\n0_0\tThree .\t12_s0\n",
}
REVIEWERS = {
    "r/data/evaluations.csv": "ParticipantID\tPaper1\tPaper2\tExpertise1\tExpertise2\n"
    "3\tab\tno_ss\t4.5\t1.0\n4\tab\t\t2.0\t\n",
    "r/data/papers/ab.json": '{"ssId": "ab", "title": "T", "abstract": "A", "year": 1997, "authors": ["D"], "a": 1}',
    "r/data/participants/3.json": '{"authorId": "3", "name": "D", "papers": [{"paperId": "ab"}]}',
}
QUESTION = {
    "QUESTION": "Q?",
    "CONTEXTS": ["C"],
    "LABELS": ["AIM"],
    "MESHES": ["M"],
    "YEAR": "2011",
    "final_decision": "maybe",
    "LONG_ANSWER": "L",
    "reasoning_free_pred": "no",
}
COVID = {
    "paragraphs": [
        {
            "context": "To be. Not to be. Be.",
            "document_id": 630,
            "qas": [
                {"id": 1, "question": "What?", "answers": [{"text": " Not to be. ", "answer_start": 6}]},
                {"id": 2, "question": "Where?", "answers": [{"text": "be", "answer_start": 13}]},
            ],
        }
    ]
}
S2ORC = {
    "paper_id": "7",
    "title": "T",
    "abstract": "A  b.",
    "year": 2000,
    "venue": None,
    "journal": "espan\u0303ol",
    "mag_field_of_study": ["Art"],
    "outbound_citations": ["1"],
    "inbound_citations": [],
}
CASES = {
    "cranfield": (
        CRANFIELD,
        {
            "corpus.jsonl.gz": [
                {
                    "_id": "1",
                    "title": "lift of a wing in a slipstream",
                    "text": "the lift was measured .",
                    "metadata": {"authors": "doe,j.", "bib": "j. of wings 1, 1958, 3."},
                },
                {"_id": "2", "title": "", "text": "", "metadata": {"authors": "", "bib": ""}},
            ],
            "queries.jsonl.gz": [{"_id": "1", "text": "what lifts a wing ."}, {"_id": "2", "text": "what is drag ."}],
            "qrels/test.tsv": [QRELS, (1, 1, 4), (1, 2, 3), (2, 2, 1)],
            "minus_one_documents.tsv": [QRELS[:2], (2, 1)],
        },
    ),
    "cacm": (
        CACM,
        {
            "corpus.jsonl.gz": [
                {
                    "_id": "1",
                    "title": "A Language",
                    "text": "It is described.",
                    "metadata": {
                        "authors": ["Doe, J.", "Roe,R."],
                        "year": 1958,
                        "keywords": ["code", "standard code"],
                        "acm_codes": ["1.0", "2.43"],
                    },
                },
                {
                    "_id": "2",
                    "title": "Another",
                    "text": "",
                    "metadata": {"authors": [], "year": 1960, "keywords": [], "acm_codes": []},
                },
            ],
            "queries.jsonl.gz": [{"_id": "1", "text": "What of TSS?"}],
            "qrels/test.tsv": [QRELS, (1, 2, 1)],
            "citation_links.tsv": [("paper-id", "paper-id-2"), (1, 2)],
        },
    ),
    "npl": (
        NPL,
        {
            "corpus.jsonl.gz": [
                {"_id": "1", "title": "", "text": "fast digital stores"},
                {"_id": "3", "title": "", "text": "wave guides"},
            ],
            "queries.jsonl.gz": [{"_id": "1", "text": "measurement of waves"}],
            "qrels/test.tsv": [QRELS, ("1", "1", 1), ("1", "3", 1)],
        },
    ),
    "scifact": (
        SCIFACT,
        {
            "corpus.jsonl.gz": [{"_id": "7", "title": "T", "text": "One. Two.", "metadata": {"n_sentences": 2}}],
            "queries.jsonl.gz": [{"_id": "1", "text": "D"}, {"_id": "2", "text": "C"}],
            "qrels/train.tsv": [QRELS, (2, 7, 1)],
            "qrels/dev.tsv": [QRELS, (1, 7, 1)],
            "claims_train.jsonl.gz": [
                {
                    "id": "2",
                    "claim": "C",
                    "evidence_doc_id": "7",
                    "label": "SUPPORT",
                    "evidence_sentences": [1],
                    "cited_doc_ids": ["7", "7"],
                }
            ],
            "claims_dev.jsonl.gz": [
                {
                    "id": "1",
                    "claim": "D",
                    "evidence_doc_id": None,
                    "label": None,
                    "evidence_sentences": [],
                    "cited_doc_ids": ["7"],
                }
            ],
        },
    ),
    "csfcube": (
        CSFCUBE,
        {
            "corpus.jsonl.gz": [
                {
                    "_id": key,
                    "title": "T",
                    "text": "A. B.",
                    "metadata": {"year": None, "sentences": ["A.", "B."], "sentence_labels": labels},
                }
                for key, labels in (("5", ["background", "other"]), ("8", ["method"] * 2), ("9", ["other"] * 2))
            ],
            "queries.jsonl.gz": [
                {"_id": "5_method", "text": "T. A. B.", "metadata": {"paper_id": "5", "facet": "method"}}
            ],
            "qrels/test.tsv": [QRELS, ("5_method", "8", 3), ("5_method", "9", 0)],
            "evaluation_splits.json": {"method": {"fold1_dev": ["5_method"]}},
        },
    ),
    "hallmarks": (
        HALLMARKS,
        {
            "train.jsonl.gz": [
                {
                    "id": "11",
                    "text": "One . Two .",
                    "sentences": ["One .", "Two ."],
                    "sentence_labels": [
                        [],
                        ["Resisting cell death--Apoptosis", "Avoiding immune destruction--Immune response"],
                    ],
                    "labels": ["Avoiding immune destruction", "Resisting cell death"],
                }
            ],
            **{
                f"{part}.jsonl.gz": [
                    {"id": "12", "text": "Three .", "sentences": ["Three ."], "sentence_labels": [[]], "labels": []}
                ]
                for part in ("dev", "test")
            },
        },
    ),
    "reviewer-gold-standard": (
        REVIEWERS,
        {
            "papers.jsonl.gz": [{"id": "ab", "title": "T", "abstract": "A", "year": 1997, "authors": ["D"]}],
            "evaluations.jsonl.gz": [
                {"reviewer_id": "3", "paper_id": "ab", "expertise": 4.5},
                {"reviewer_id": "4", "paper_id": "ab", "expertise": 2.0},
            ],
            "reviewers.jsonl.gz": [{"reviewer_id": "3", "paper_ids": ["ab"]}],
        },
    ),
    "ohsumed-single-label": (
        {"x/training/C04/0001": "A tumor.\n It grew.\n It went.\n", "x/test/C01/0002": "A germ.\n Small.\n"},
        {
            "train.jsonl.gz": [
                {
                    "id": "0001",
                    "title": "A tumor",
                    "abstract": "It grew. It went.",
                    "label": "C04",
                    "label_name": "Neoplasms",
                }
            ],
            "test.jsonl.gz": [
                {
                    "id": "0002",
                    "title": "A germ",
                    "abstract": "Small.",
                    "label": "C01",
                    "label_name": "Bacterial Infections and Mycoses",
                }
            ],
        },
    ),
    "mesh-tree-numbers": (
        {
            "terms.tsv": "mesh_id\tmesh_name\nD2\tFemale\nD1\tAbdomen, Acute\n",
            "tree-numbers.tsv": "mesh_id\tmesh_name\tmesh_tree_number\nD1\tAbdomen, Acute\tC23.8\nD1\t\tC24\n",
        },
        {
            "descriptors.jsonl.gz": [
                {"id": "D1", "name": "Abdomen, Acute", "tree_numbers": ["C23.8", "C24"]},
                {"id": "D2", "name": "Female", "tree_numbers": []},
            ]
        },
    ),
    "word-tags": (
        {
            "train.tsv": "BRCA1\tB-Gene\nis\tO\n\n\nA\tB-Gene\nB\tI-Gene\n",
            "test.txt": "-DOCSTART- (1)\n\nof NN O O\ntea NN O I-INT\nfor NN O I-PAR\nmen NN O I-PAR\n",
        },
        {
            "train.jsonl.gz": [
                {"tokens": ["BRCA1", "is"], "tags": ["B-Gene", "O"]},
                {"tokens": ["A", "B"], "tags": ["B-Gene", "I-Gene"]},
            ],
            "test.jsonl.gz": [{"tokens": ["of", "tea", "for", "men"], "tags": ["O", "B-INT", "B-PAR", "I-PAR"]}],
        },
    ),
    "labelled-texts": (
        {"train.txt": '{"text": "t", "label": "l", "metadata": {}}\n\n'},
        {"train.jsonl.gz": [{"text": "t", "label": "l"}]},
    ),
    "pubmedqa": (
        {"ori_pqal.json": json.dumps({"8": QUESTION, "9": QUESTION}), "test_ground_truth.json": '{"9": "maybe"}'},
        {
            f"{part}.jsonl.gz": [
                {
                    "id": key,
                    "question": "Q?",
                    "contexts": ["C"],
                    "context_labels": ["AIM"],
                    "long_answer": "L",
                    "answer": "maybe",
                    "mesh": ["M"],
                    "year": 2011,
                }
            ]
            for part, key in (("train", "8"), ("test", "9"))
        },
    ),
    "covid-qa": (
        {"covid-qa.json": json.dumps({"data": [COVID]})},
        {
            "documents.jsonl.gz": [{"id": "630", "context": "To be. Not to be. Be."}],
            "questions.jsonl.gz": [
                {
                    "id": "1",
                    "document_id": "630",
                    "question": "What?",
                    "answers": [{"text": "Not to be.", "answer_start": 7}],
                },
                {
                    "id": "2",
                    "document_id": "630",
                    "question": "Where?",
                    "answers": [{"text": "be", "answer_start": 14}],
                },
            ],
        },
    ),
    "s2orc-sample": (
        {"sample.jsonl": json.dumps(S2ORC) + "\n" + json.dumps(S2ORC | {"abstract": None})},
        {
            "papers.jsonl.gz": [
                {
                    "id": "s2:7",
                    "title": "T",
                    "abstract": "A b.",
                    "year": 2000,
                    "venue": "espa\u00f1ol",
                    "fields": ["Art"],
                    "n_references": 1,
                    "n_citations": 0,
                }
            ]
        },
    ),
}


def test_every_converter_has_a_case():
    assert CASES.keys() == CONVERTERS.keys()


@pytest.mark.parametrize("name", CASES)
def test_published_files_become_the_rows_of_the_layout(name):
    published, rows = CASES[name]
    assert CONVERTERS[name]({path: text.encode() for path, text in published.items()}) == rows


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [
        ("cranfield", {"cran.all.1400": b""}, "cranqrel: 0 such files"),
        ("labelled-texts", {"train.txt": b'{"text": "a", "label": "b"}\n{"text"'}, "train.txt, line 2: not JSON"),
        ("pubmedqa", {"test_ground_truth.json": b"<html>"}, "test_ground_truth.json: not JSON"),
        ("word-tags", {"dev.tsv": b"a\tO\nb\n"}, "dev.tsv, line 2: a word without a tag"),
        ("hallmarks", {k: v.encode() for k, v in (HALLMARKS | {"h-1/labels/12.txt": "< < "}).items()}, "labels of 2"),
    ],
)
def test_another_form_is_an_error_that_names_the_file(name, files, message):
    with pytest.raises(InputError, match=message):
        CONVERTERS[name](files)


def test_text_that_is_not_utf8_is_decoded_by_what_it_looks_like():
    content = "Doğan étudie les théories déjà prouvées, très élégantes\n".replace("ğ", "g").encode("cp1252")
    made = CONVERTERS["ohsumed-single-label"]({"x/training/C01/1": content, "x/test/C01/2": b"a\nb"})
    assert made["train.jsonl.gz"][0]["title"] == "Dogan étudie les théories déjà prouvées, très élégantes"
