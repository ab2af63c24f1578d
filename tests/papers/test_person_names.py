import pytest

from sciprism.papers.bibliographic_fields import Name, has_name, normalize, parse_name, split_keywords, split_names


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
        ("王伟", "伟", False),
        ("I. Møller", "I", False),
        ("I. Møller", "?", False),
    ],
)
def test_a_name_meets_the_person(person, name, meets):
    assert has_name(person, name) == meets


TWO = ("Ann Alder", "Bo Birch")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Alder, Ann and Birch, Bo", TWO),
        ("Ann Alder & Bo Birch", TWO),
        ("Ann Alder, Bo Birch, and Cy Cedar", (*TWO, "Cy Cedar")),
        ("Alder, A., Birch, B., & Cedar, C.", ("A. Alder", "B. Birch", "C. Cedar")),
        ("Alder, A.\n and Birch, B.\n", ("A. Alder", "B. Birch")),
        ("Alder, Ann; Birch, Bo and Cedar, Cy", (*TWO, "Cy Cedar")),
        ("Alder, Ann and others", ("Ann Alder",)),
        ("A Alder, B Birch, …", ("A Alder", "B Birch")),
        ("ALDER, ANN AND BIRCH, BO", ("ANN ALDER", "BO BIRCH")),
        ("Alder A", ("A Alder",)),
        ("ALDER A;BIRCH BC", ("A ALDER", "BC BIRCH")),
        ("Alder, Ann, Jr.", ("Ann Alder Jr.",)),
        ("Null, Ann and NA, Kim", ("Ann Null", "Kim NA")),
        ("Ministry of Health and Welfare", ("Ministry of Health and Welfare",)),
        ("{Food and Drug Office} and Alder, Ann", ("Food and Drug Office", "Ann Alder")),
        ("""['Ann Alder', "Pat O'Neil"]""", ("Ann Alder", "Pat O'Neil")),
        ("""['Ann Alder' "Pat O'Neil"\n 'Bo Birch']""", ("Ann Alder", "Pat O'Neil", "Bo Birch")),
        ('["Alder, Ann", "Birch, Bo"]', TWO),
        ("[Ann Alder, Bo Birch]", TWO),
        ("array(['Ann Alder', 'Bo Birch'], dtype='object')", TWO),
        ("[arxiv.Result.Author('Ann Alder'), arxiv.Result.Author('Bo Birch')]", TWO),
        ('c("Ann Alder", "Bo Birch", NA)', TWO),
        ("[{'name': 'Ann Alder', 'authorId': '1'}, {'name': 'Bo Birch'}]", TWO),
        ("[{'given': 'Ann', 'family': 'Alder'}, {'author': {'display_name': 'Bo Birch'}}]", TWO),
        ("[['Alder', 'Ann', ''], ['Birch', 'Bo', '']]", TWO),
        ("['Alder, Ann; Birch, Bo']", TWO),
        ("[nan, 'Ann Alder']", ("Ann Alder",)),
        ("[]", ()),
    ],
)
def test_authors_in_one_text(text, names):
    assert split_names(text) == names


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("['sleep', 'dreams, lucid']", ("sleep", "dreams, lucid")),
        ("[sleep, dreams]", ("sleep", "dreams")),
        ("[3+2] cycloaddition, [60]fullerene", ("[3+2] cycloaddition", "[60]fullerene")),
        ("[the 'new' economy]", ("[the 'new' economy]",)),
        ("(the 'new' economy)", ("(the 'new' economy)",)),
        ("sleep; 'naps'", ("sleep", "'naps'")),
        ("['']", ()),
    ],
)
def test_keywords_in_one_text(text, keywords):
    assert split_keywords(text) == keywords
