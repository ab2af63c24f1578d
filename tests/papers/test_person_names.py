import pytest

from sciprism.papers.bibliographic_fields import Name, has_name, normalize, parse_name


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("S.M. Ryew", Name("s", ("m",), "ryew")),
        ("Alin Albu-Schäffer", Name("alin", (), "albu schaffer")),
        ("O’Neill, Jørgen-Émile", Name("jorgen", ("emile",), "oneill")),
        ("van der Berg, A B", Name("a", ("b",), "van der berg")),
        ("Plato", Name("", (), "plato")),
        ("王 伟", Name("", (), "王伟")),
        ("山田, 太郎", Name("", (), "山田太郎")),
        ("  ", Name("", (), "")),
    ],
)
def test_names_come_apart(written, name):
    assert parse_name(written) == name


def test_whole_and_block():
    name = parse_name("Ann B. Lee")
    assert (name.whole, name.block) == ("ann b lee", "a lee")


def test_normal_form_has_letters_and_single_spaces():
    assert normalize("  D'Arcy -- 42, Łódź_ß ") == "darcy lodz ss"


@pytest.mark.parametrize(
    ("person", "name", "meets"),
    [
        ("Ina B. Møller", "moller", True),
        ("Ina B. Møller", "Møller, I", True),
        ("I. Møller", "Ina Møller", True),
        ("IB Møller", "Ina Bea Møller", True),
        ("Jean-Paul O’Neill", "ONeill JP", True),
        ("Ina B. Møller", "Ian B. Møller", False),
        ("Ina Mollerson", "Moller", False),
        ("I. Berg", "I. Møller", False),
        ("王伟", "王, 伟", True),
        ("김철수", "김", True),
        ("I. Møller", "I", False),
        ("I. Møller", "?", False),
    ],
)
def test_a_name_meets_the_person(person, name, meets):
    assert has_name(person, name) == meets
