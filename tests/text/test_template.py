"""What papers, labels and queries read like when they are encoded."""

import pytest

from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper
from sciprism.text.template import PAPER_FIELDS, Template

ABOUT = {"authors": ("Ada Lovelace", "Emmy Noether"), "venue": "Annals", "year": 1905, "keywords": ("optics", "waves")}
PAPER = Paper(id="p", title="On Light", abstract="Light bends.", **ABOUT)


@pytest.mark.parametrize(
    "fields, expected",
    [
        (("abstract", "title"), "Light bends.|On Light"),
        (("title", "venue", "year"), "On Light|Annals|1905"),
        (("title", "authors", "keywords"), "On Light|Ada Lovelace, Emmy Noether|optics, waves"),
        (("id",), "p"),
        ((), ""),
    ],
)
def test_other_fields(fields, expected):
    assert Template(separator="|").text(PAPER, "paper", fields) == expected
    assert set(fields) <= set(PAPER_FIELDS)


def test_a_missing_part_is_left_out_with_its_separator():
    template = Template(separator="[SEP]")
    assert template.text(PAPER, "paper") == "On Light[SEP]Light bends."
    assert template.text(Paper(id="p", title="On Light"), "paper") == "On Light"
    assert template.text(Paper(id="p", abstract="Light bends."), "paper") == "Light bends."
    assert template.text(Paper(id="p"), "paper", ("title", "year", "authors", "abstract")) == ""
    scimult = Template(separator=" [SEP] ", keep_empty=True)
    assert scimult.text(Label(id="l", name="Ice"), "label") == "Ice [SEP] "
    assert scimult.text(Paper(id="p", title="Ice"), "paper") == "Ice [SEP] "
    assert scimult.to_json()["keep_empty"] and "keep_empty" not in template.to_json()


def test_labels_and_queries():
    template = Template(separator=": ", prompts={"query": "find "})
    optics = Label(id="l", name="Optics", definition="Study of light.")
    assert template.text(optics, "label") == "Optics: Study of light."
    assert template.text(Label(id="l", name="Optics"), "label") == "Optics"
    assert template.text("bending of light", "query") == "find bending of light"
    assert template.text("", "query") == "find "
    assert Template(prompts={"query": "Find "}, lowercase=True).text("ÉCLAIR", "query") == "find éclair"


@pytest.mark.parametrize("item", [None, 1, b"bytes", {"title": "a dict"}, ["list"]])
def test_other_items_are_refused(item):
    with pytest.raises(InputError, match="expected a paper, a label or a text, got"):
        Template().text(item, "paper")


@pytest.mark.parametrize("wrong", [{"separator": 5}, {"prompts": ["query: "]}, {"prompts": {"query": 5}}])
def test_wrong_templates_are_refused(wrong):
    with pytest.raises(InputError, match="prompts"):
        Template(**wrong)
