import pytest

from sciprism.papers.bibliographic_fields import Name, normalize, parse_name


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("S.M. Ryew", Name("s", ("m",), "ryew")),
        ("Alin Albu-Schäffer", Name("alin", (), "albu schaffer")),
        ("O’Neill, Jørgen-Émile", Name("jorgen", ("emile",), "oneill")),
        ("van der Berg, A B", Name("a", ("b",), "van der berg")),
        ("Plato", Name("", (), "plato")),
        ("王 伟", Name("王", (), "伟")),
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
