"""Converters: files in the form in which owners publish them become the rows that the suites read."""

import json
from pathlib import Path

import pytest

from sciprism.datasets.converters import CONVERTERS
from sciprism.errors import InputError

CASES = json.loads(Path(__file__).with_name("converters.json").read_text(encoding="utf-8"))
"""Converter -> published files, and what it makes of them."""


def convert(name, published):
    return CONVERTERS[name]({path: text.encode() for path, text in published.items()})


def test_every_converter_has_a_case():
    assert CASES.keys() == CONVERTERS.keys()


@pytest.mark.parametrize("name", CASES)
def test_published_files_become_the_rows_of_the_layout(name):
    assert json.loads(json.dumps(convert(name, CASES[name]["published"]))) == CASES[name]["made"]


@pytest.mark.parametrize(
    ("name", "published", "message"),
    [
        ("cranfield", {"cran.all.1400": ""}, "cranqrel: 0 such files"),
        ("word-tags", {"dev.tsv": "a\tO\nb\n"}, "dev.tsv, line 1: a sentence with a word without a tag"),
        ("hallmarks", CASES["hallmarks"]["published"] | {"h-1/labels/12.txt": "< < "}, "labels of 2"),
    ],
)
def test_another_form_is_an_error_that_names_the_file(name, published, message):
    with pytest.raises(InputError, match=message):
        convert(name, published)


def test_text_that_is_not_utf8_is_decoded_by_what_it_looks_like():
    content = "Dogan étudie les théories déjà prouvées, très élégantes\n".encode("cp1252")
    made = CONVERTERS["ohsumed-single-label"]({"x/training/C01/1": content, "x/test/C01/2": b"a\nb"})
    assert made["train.jsonl.gz"][0]["title"] == "Dogan étudie les théories déjà prouvées, très élégantes"
