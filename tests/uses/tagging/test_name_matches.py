"""Words, names found in texts, and vocabularies."""

from __future__ import annotations

import pytest

from sciprism.errors import InputError
from sciprism.papers.records import Label
from sciprism.uses.tagging.vocabulary import NameMatcher, Vocabulary, split_words, stems_of


def test_words_are_compared_in_one_form():
    assert stems_of("Galaxies, galaxy's; Stars in gas: Nucleus analysis ÅNGSTRÖM") == (
        ["galaxy", "galaxy", "s", "star", "in", "gas", "nucleus", "analysis", "angstrom"]
    )
    assert stems_of("暗物质 halos") == ["暗", "物", "质", "halo"]


def test_words_know_where_they_are():
    text = "Dark-matter haloes"
    assert [text[word.start : word.stop] for word in split_words(text)] == ["Dark", "matter", "haloes"]


def labels(*names: str) -> list[Label]:
    return [Label(id=name, name=name) for name in names]


def test_a_name_is_found_whatever_its_number_and_where():
    matcher = NameMatcher(labels("Dark matter halo", "Spiral galaxies"))
    found = matcher.find("Dark matter halos", "The dark matter halo of a spiral galaxy. A dark matter halo.")
    assert (found[0].title, found[0].abstract, found[0].text, found[0].where) == (1, 2, "Dark matter halos", "title")
    assert found[1].text == "spiral galaxy" and found[1].where == "abstract" and not found[1].exact
    assert found[0].exact, "it is printed as the name in the abstract"
    assert matcher.find("darkmatter halo", "") == {}


def test_a_name_inside_a_longer_one_is_marked():
    found = NameMatcher(labels("Pain", "Back pain", "Pain measurement")).find("Back pain measurement", "")
    assert [found[row].inside for row in range(3)] == [True, False, False]
    alone = NameMatcher(labels("Pain", "Back pain")).find("Back pain and pain", "")
    assert not alone[0].inside, "it is also found alone"


def test_alternative_inverted_and_qualified_names_are_found():
    label = Label(id="a", name="Diabetes Mellitus, Type 2", synonyms=("NIDDM",))
    matcher = NameMatcher([label, *labels("Mercury (planet)", "X")])
    kinds = {text: matcher.find(text, "") for text in ("Type 2 diabetes mellitus", "NIDDM", "Mercury", "x-ray")}
    assert kinds["Type 2 diabetes mellitus"][0].kind == 2 and kinds["NIDDM"][0].kind == 1
    assert kinds["Mercury"][1].kind == 2
    assert kinds["x-ray"] == {}, "a single letter is no name to look for"


def test_labels_are_found_by_id_notation_and_name():
    vocabulary = Vocabulary(
        [
            Label(id="u1", name="Insulin", codes=("D06",)),
            Label(id="u2", name="Insulins", synonyms=("Insulin drugs",)),
            Label(id="u3", name="Red giant"),
            Label(id="u4", name="Giant, red"),
        ]
    )
    found = [
        row
        for name in ("u2", "D06", "insulin", "INSULINS", "insulin drug", "Red giants")
        for row in vocabulary.find_all(name)
    ]
    assert found == [0 + 1, 0, 0, 1, 1, 2]
    assert vocabulary.find_all("insulin'") == [0, 1], "one form of two labels"
    with pytest.raises(InputError, match=r"the branch 'Red gaint' is no id, notation or name .* 'Red giant'"):
        vocabulary.find_named("Red gaint", "the branch")


def test_the_hierarchy_is_followed_both_ways():
    vocabulary = Vocabulary(
        [
            Label(id="a", name="A"),
            Label(id="b", name="B", broader=("a",)),
            Label(id="c", name="C", broader=("b", "gone")),
        ]
    )
    assert vocabulary.above(2) == {0, 1} and vocabulary.below(0) == {1, 2} and vocabulary.children[0] == [1]
    assert vocabulary.notes == ["1 broader labels are not in the vocabulary; they are ignored"]


def test_mesh_tree_numbers_are_a_hierarchy():
    rows = [("d1", ("C04",)), ("d2", ("C04.588", "A01.100")), ("d3", ("C04.588.322",))]
    vocabulary = Vocabulary([Label(id=id, name=id, codes=codes) for id, codes in rows])
    assert vocabulary.parents == [[], [0], [1]]


def test_a_circle_in_the_hierarchy_is_noted_and_cut():
    rows = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "d")]
    vocabulary = Vocabulary([Label(id=id, name=id.upper(), broader=(above,)) for id, above in rows])
    assert len(vocabulary.notes) == 2 and all("the hierarchy has a circle" in note for note in vocabulary.notes)
    assert "is ignored" in vocabulary.notes[0] and sum(map(len, vocabulary.parents)) == 2
    assert all(row not in vocabulary.above(row) for row in range(4))


def test_two_labels_of_one_id_are_refused_and_one_in_two_files_is_joined():
    with pytest.raises(InputError, match="two labels have the id x: 'Red' and 'Blue'"):
        Vocabulary([Label(id="x", name="Red"), Label(id="x", name="Blue")])
    joined = Vocabulary([Label(id="x", name="Red"), Label(id="x", name="Red", synonyms=("Rouge",), definition="d")])
    assert joined.labels == (Label(id="x", name="Red", synonyms=("Rouge",), definition="d"),)
    with pytest.raises(InputError, match="no labels"):
        Vocabulary([])
