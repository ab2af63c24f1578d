import gzip
import io
import json
import logging
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.errors import InputError, MissingExtraError
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.read import ReadReport, read_labels
from sciprism.papers.readers.registry import label_readers
from sciprism.papers.records import Label

SAMPLES = Path(__file__).parent / "label_samples"
SAMPLE = {path.stem: path for path in sorted(SAMPLES.iterdir())}
SHORE = "http://example.org/shore/"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("labels")


def read(path: Path, reader: str, columns: dict[str, str] | None = None) -> list[Label | BadRecord]:
    return list(label_readers[reader].read(InputFile(path), ReadOptions(columns=columns or {})))


def test_every_reader_has_a_sample():
    assert sorted(SAMPLE) == sorted(label_readers)


@pytest.mark.parametrize("reader", SAMPLE)
def test_sample_finds_its_reader_plain_and_packed(reader: str, folder: Path):
    path = SAMPLE[reader]
    packed = folder / f"{path.name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    report = ReadReport()
    plain = list(read_labels(path, skip_bad=True, report=report))
    assert report.files[0].format == reader
    assert plain == list(read_labels(packed, skip_bad=True))
    assert len(plain) >= 2
    assert all(label.id and label.name for label in plain)


def test_mesh_sample():
    assert read(SAMPLE["mesh"], "mesh") == [
        Label(
            id="D900002",
            name="Wracks",
            synonyms=("Bladder Wrack", "Wrack"),
            definition="Brown seaweeds that grow on stones between the tides.",
            broader=("D900001",),
            codes=("B90.100.200", "G90.300"),
        ),
        Label(id="D900001", name="Seaweeds", codes=("B90.100",)),
    ]


def test_mesh_fault_comes_after_the_descriptors_before_it(folder: Path):
    path = folder / "desc.xml"
    path.write_text(SAMPLE["mesh"].read_text().replace("<DescriptorUI>D900001", "<DescriptorUI/><Descr>D900001"))
    label, fault = read(path, "mesh")
    assert isinstance(label, Label)
    assert label.broader == ()
    assert isinstance(fault, BadRecord)
    assert (fault.number, fault.line) == (2, 27)


def test_mesh_descriptor_without_a_name_is_a_bad_record(folder: Path):
    path = folder / "desc.xml"
    path.write_text(SAMPLE["mesh"].read_text().replace("<String>Seaweeds</String>", ""))
    label, bad = read(path, "mesh")
    assert isinstance(label, Label)
    assert isinstance(bad, BadRecord)
    assert "'D900001' has no UI or no name" in bad.reason


def test_skos_sample():
    assert read(SAMPLE["skos"], "skos") == [
        Label(
            id=f"{SHORE}wrack",
            name="wrack",
            synonyms=("bladder wrack",),
            definition="Brown seaweed that grows on stones.",
            broader=(f"{SHORE}seaweed",),
            codes=("1.2",),
        ),
        Label(id=f"{SHORE}seaweed", name="seaweed", definition="Large algae of the sea."),
        Label(id=f"{SHORE}dulse", name="Lappentang", synonyms=("Dulse",), broader=(f"{SHORE}seaweed",)),
    ]


@pytest.mark.parametrize(("suffix", "style"), [("rdf", "pretty-xml"), ("nt", "nt"), ("ttl", "turtle")])
def test_skos_in_every_notation(folder: Path, suffix: str, style: str):
    import rdflib

    path = folder / f"shore.{suffix}"
    path.write_text(rdflib.Graph().parse(SAMPLE["skos"]).serialize(format=style), encoding="utf-8")

    def by_id(labels: list[Label | BadRecord]) -> list[Label]:
        return sorted((label for label in labels if isinstance(label, Label)), key=lambda label: label.id)

    report = ReadReport()
    assert by_id(list(read_labels(path, report=report))) == by_id(read(SAMPLE["skos"], "skos"))
    assert report.files[0].format == "skos"


def test_skos_in_latin_1(folder: Path):
    path = folder / "latin.ttl"
    path.write_bytes(SAMPLE["skos"].read_text(encoding="utf-8").encode("latin-1"))
    assert read(path, "skos") == read(SAMPLE["skos"], "skos")


def test_skos_fault_comes_after_the_concepts_before_it(folder: Path):
    path = folder / "broken.ttl"
    path.write_text(SAMPLE["skos"].read_text().replace("shore:dulse a", "shore:dulse ("))
    *labels, fault = read(path, "skos")
    assert [label.id for label in labels if isinstance(label, Label)] == [f"{SHORE}wrack", f"{SHORE}seaweed"]
    assert isinstance(fault, BadRecord)
    assert (fault.number, fault.line) == (3, 16)


def test_skos_concepts_that_are_no_labels(folder: Path):
    path = folder / "odd.ttl"
    head = SAMPLE["skos"].read_text().split("shore:scheme")[0]
    path.write_text(head + 'shore:a a skos:Concept . [] a skos:Concept ; skos:prefLabel "x" .')
    reasons = [item.reason for item in read(path, "skos") if isinstance(item, BadRecord)]
    assert reasons == [f"{SHORE}a has no skos:prefLabel", "a concept without an IRI (a blank node)"]


def test_skos_names_in_the_language_asked_for():
    options = ReadOptions(language="de")
    labels = list(label_readers["skos"].read(InputFile(SAMPLE["skos"]), options))
    assert [(label.name, label.synonyms) for label in labels if isinstance(label, Label)] == [
        ("Tang", ("Blasentang",)),
        ("seaweed", ()),  # it has no German name
        ("Lappentang", ("Dulse",)),
    ]
    assert isinstance(labels[1], Label) and labels[1].definition == "Große Algen."


def test_skos_regional_names_serve_where_the_language_has_none(folder: Path):
    path = folder / "regional.ttl"
    head = SAMPLE["skos"].read_text().split("shore:scheme")[0]
    path.write_text(head + 'shore:a a skos:Concept ; skos:prefLabel "red"@en, "vermelho"@pt-BR .')
    [label] = label_readers["skos"].read(InputFile(path), ReadOptions(language="pt"))
    assert isinstance(label, Label) and label.name == "vermelho"


def test_skos_deprecated_hidden_and_repeated_names(folder: Path):
    path = folder / "deprecated.ttl"
    head = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n" + SAMPLE["skos"].read_text().split("shore:scheme")[0]
    path.write_text(
        head
        + 'shore:old a skos:Concept ; skos:prefLabel "old"@en ; owl:deprecated true .\n'
        + 'shore:ended a skos:Concept, owl:DeprecatedClass ; skos:prefLabel "ended"@en .\n'
        + 'shore:kept a skos:Concept ; skos:prefLabel "kept"@en ; owl:deprecated false ; skos:hiddenLabel "ketp"@en .\n'
        + 'shore:two a skos:Concept ; skos:prefLabel "one"@en, "other"@en .\n'
    )
    report = ReadReport()
    labels = {label.id.removeprefix(SHORE): label for label in read_labels(path, report=report)}
    assert set(labels) == {"kept", "two"} and labels["kept"].synonyms == ("ketp",)
    assert report.files[0].note == (
        "2 deprecated concepts left out, 1 concept has several preferred names in one language: the first is used"
    )


SKOS_HEAD = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xl: <http://www.w3.org/2008/05/skos-xl#> .
@prefix iso: <http://purl.org/iso25964/skos-thes#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix : <http://example.org/shore/> .
"""


def read_concepts(
    folder: Path, text: str | bytes, language: str = "", name: str = "v.ttl"
) -> tuple[dict[str, Label], str]:
    """Read a file of SKOS: last part of the IRI -> concept, and the note on the file."""
    path, report = folder / name, ReadReport()
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    labels = list(read_labels(path, options=ReadOptions(language=language), skip_bad=True, report=report))
    assert report.files[0].format == "skos"
    return {label.id.removeprefix(SHORE): label for label in labels}, report.files[0].note


@pytest.mark.parametrize(
    ("language", "name", "synonyms", "note"),
    [
        ("", "colour", ("color", "Tint", "hue"), ""),
        ("en-US", "color", ("colour", "Tint", "hue"), ""),
        ("pt", "cor", ("Tint", "tom"), ""),
        ("PT_br", "cor", ("Tint", "tom"), ""),
        ("de", "colour", ("color", "Tint", "hue", "Farbton"), "1 name is in another language than de: en-gb 1"),
    ],
)
def test_skos_language_is_chosen_for_each_label(
    folder: Path, language: str, name: str, synonyms: tuple[str, ...], note: str
):
    text = ':a a skos:Concept ; skos:prefLabel "color"@en-US, "colour"@en-GB, "cor"@pt-BR ; '
    text += 'skos:altLabel "Tint", " hue "@en, "tom"@pt, "Farbton"@de .'
    labels, said = read_concepts(folder, SKOS_HEAD + text, language)
    assert (labels["a"].name, set(labels["a"].synonyms), said) == (name, set(synonyms), note)


def test_skos_labels_of_other_languages_than_the_name(folder: Path):
    text = ':a a skos:Concept ; skos:prefLabel "shore" ; skos:altLabel "Ufer"@de, "coast"@en ; '
    text += 'skos:definition "Le bord."@fr ; skos:scopeNote "The edge."@en .'
    text += ':b a skos:Concept ; skos:prefLabel "Watt"@de ; skos:altLabel "mud flat"@en, "Wattenmeer"@de .'
    english, note = read_concepts(folder, SKOS_HEAD + text)
    assert english["a"].synonyms == ("coast",) and english["a"].definition == "The edge."
    assert english["b"].name == "Watt" and set(english["b"].synonyms) == {"mud flat", "Wattenmeer"}
    assert note == "1 name is in another language than en: de 1"
    assert read_concepts(folder, SKOS_HEAD + text, "de")[0]["a"].synonyms == ("Ufer",)


def test_skos_xl_and_rdfs_labels_are_names(folder: Path):
    text = (
        ':a a skos:Concept ; skos:prefLabel "tide"@en ; xl:prefLabel :l, :m ; xl:altLabel [ xl:literalForm "ebb"@en ] .'
    )
    text += ':l xl:literalForm "tide"@en . :m xl:literalForm "Gezeit"@de . :b a skos:Concept ; xl:prefLabel '
    text += '[ a xl:Label ; xl:literalForm "surf"@en ] ; xl:hiddenLabel [ xl:literalForm "srf" ] . :c a skos:Concept ; '
    text += 'rdfs:label "dune"@en . :term rdfs:subPropertyOf skos:altLabel . :c :term "sand hill"@en .'
    labels, note = read_concepts(folder, SKOS_HEAD + text)
    names = {key: (label.name, label.synonyms) for key, label in labels.items()}
    assert names == {"a": ("tide", ("ebb",)), "b": ("surf", ("srf",)), "c": ("dune", ("sand hill",))} and not note
    assert read_concepts(folder, SKOS_HEAD + text, "de")[0]["a"].name == "Gezeit"


def test_skos_hierarchy_by_every_property(folder: Path):
    links = (
        ":a skos:broaderTransitive :b, :c, :d, :a . :b skos:broaderTransitive :c, :d . :d skos:narrowerTransitive :c . "
    )
    links += ":c skos:broadMatch :e . :e iso:narrowerPartitive :f . :f iso:broaderGeneric :d . "
    links += "skos:broadMatch rdfs:subPropertyOf skos:broader . :g skos:broader :c ; skos:broaderTransitive :c, :d ."
    named = "".join(f':{key} a skos:Concept ; skos:prefLabel "{key}" . ' for key in "abcdefg")
    labels, _ = read_concepts(folder, SKOS_HEAD + named + links)
    above = {key: "".join(iri.removeprefix(SHORE) for iri in label.broader) for key, label in labels.items()}
    assert above == {"a": "b", "b": "c", "c": "d", "d": "", "e": "", "f": "de", "g": "c"}


def test_skos_concepts_by_class_and_by_place(folder: Path):
    text = ':s skos:prefLabel "scheme" ; skos:hasTopConcept :top . :top skos:prefLabel "top" ; skos:narrower :low . '
    text += ':low skos:prefLabel "low" . :Topic rdfs:subClassOf skos:Concept . :t a :Topic ; skos:prefLabel "topic" . '
    text += (
        ':in skos:prefLabel "in" ; skos:inScheme :s . :g a skos:Collection ; skos:prefLabel "group" ; skos:member :t . '
    )
    text += ':p a :Person ; skos:prefLabel "person" . :x a skos:Concept ; skos:prefLabel "x" ; dct:isReplacedBy :t .'
    labels, note = read_concepts(folder, SKOS_HEAD + text)
    assert sorted(labels) == ["in", "low", "t", "top"]
    assert note == "1 deprecated concept left out, 2 named resources are no skos:Concept and left out"


CONCEPT = {
    "@id": f"{SHORE}a",
    "@type": "skos:Concept",
    "skos:prefLabel": [{"@language": "en", "@value": "tide"}],
    "skos:broader": {"@id": f"{SHORE}b"},
}
CONTEXT = {"skos": "http://www.w3.org/2004/02/skos/core#"}
QUADS = [
    "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2004/02/skos/core#Concept>",
    '<http://www.w3.org/2004/02/skos/core#prefLabel> "tide"@en',
    f"<http://www.w3.org/2004/02/skos/core#broader> <{SHORE}b>",
]
XML_ROOT = """<RDF xmlns="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
xmlns:k="http://www.w3.org/2004/02/skos/core#"><k:Concept r:about="http://example.org/shore/a">
<k:prefLabel xml:lang="en-GB">tide</k:prefLabel><k:broader r:resource="http://example.org/shore/b"/></k:Concept></RDF>"""
TURTLE = "PREFIX k: <http://www.w3.org/2004/02/skos/core#>\nBASE <http://example.org/shore/>\n<a> a k:Concept ;\n"
TURTLE += '  k:prefLabel "tide"@EN ; k:broader <b> .\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("root.rdf", XML_ROOT),
        ("base.ttl", TURTLE),
        ("crlf.ttl", b"\xef\xbb\xbf" + TURTLE.replace("\n", "\r\n").encode()),
        ("a.jsonld", json.dumps({"@context": CONTEXT, "@graph": [CONCEPT]})),
        ("a.trig", TURTLE.replace("<a>", "<g> { <a>").replace("<b> .", "<b> . }")),
        ("a.nq", "".join(f"<{SHORE}a> {rest} <{SHORE}g> .\n" for rest in QUADS)),
        ("a.json", json.dumps({"@context": CONTEXT, **CONCEPT})),
        ("named.jsonld", json.dumps({"@context": CONTEXT, "@id": f"{SHORE}graph", "@graph": [CONCEPT]})),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib's own
def test_skos_in_further_notations(folder: Path, name: str, text: str | bytes):
    labels, note = read_concepts(folder, text, name=name)
    assert labels == {"a": Label(id=f"{SHORE}a", name="tide", broader=(f"{SHORE}b",))} and not note


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ttl", TURTLE.replace("BASE <http://example.org/shore/>\n", "")),
        ("a.rdf", XML_ROOT.replace(SHORE, "")),
        ("a.jsonld", json.dumps({"@context": CONTEXT, **CONCEPT}).replace(SHORE, "")),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_skos_relative_iris_do_not_depend_on_the_working_folder(folder: Path, name: str, text: str):
    assert read_concepts(folder, text, name=name)[0] == {"a": Label(id="a", name="tide", broader=("b",))}


def test_skos_context_elsewhere_is_not_fetched(folder: Path):
    path = folder / "remote.jsonld"
    path.write_text(json.dumps({"@context": [CONTEXT, "http://example.org/context"], **CONCEPT}))
    (fault,) = read(path, "skos")
    assert isinstance(fault, BadRecord) and "http://example.org/context, which is not fetched" in fault.reason


def test_skos_value_that_does_not_fit_its_type_is_not_logged(folder: Path, caplog: pytest.LogCaptureFixture):
    path = folder / "typed.ttl"
    path.write_text(SAMPLE["skos"].read_text().replace('"1.2"', '"x"^^<http://www.w3.org/2001/XMLSchema#integer>'))
    with caplog.at_level(logging.DEBUG):
        assert len(read(path, "skos")) == 3
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


RDF = """<?xml version="1.0"?><!DOCTYPE rdf:RDF [%s]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">
<skos:Concept rdf:about="http://example.org/a"><skos:prefLabel>&b;</skos:prefLabel></skos:Concept></rdf:RDF>"""


@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">',
        f'<!ENTITY b "{"a" * 5000}">',
        '<!ENTITY b SYSTEM "file:///etc/passwd">',
        '<!ENTITY % p "x"> <!ENTITY b "b">',
    ],
)
def test_skos_entities_that_could_fill_the_memory_are_refused(folder: Path, entities: str):
    path = folder / "bomb.rdf"
    path.write_text(RDF % entities)
    (fault,) = read(path, "skos")
    assert isinstance(fault, BadRecord)
    assert "entity" in fault.reason


def test_skos_short_entities_are_welcome(folder: Path):
    path = folder / "entity.rdf"
    path.write_text(RDF % '<!ENTITY b "wrack">')
    assert read(path, "skos") == [Label(id="http://example.org/a", name="wrack")]


def test_skos_without_rdflib_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(MissingExtraError, match=r"sciprism\[labels\]"):
        read(SAMPLE["skos"], "skos")


def test_maple_samples(folder: Path):
    assert read(SAMPLE["maple"], "maple") == [
        Label(id="90001", name="seaweed"),
        Label(id="90002", name="bladder wrack"),
        Label(id="90003", name="dulse"),
    ]
    path = folder / "labels_mesh.txt"
    path.write_text("D900001\tseaweeds\tseaweed\tmarine algae\nD900002\n\nD900003\tdulse\tdulse\n")
    assert read(path, "maple") == [
        Label(id="D900001", name="seaweeds", synonyms=("seaweed", "marine algae")),
        BadRecord(2, 2, "'D900002' is not an id, a tab and a name"),
        Label(id="D900003", name="dulse"),
    ]


def test_micol_sample():
    assert read(SAMPLE["micol"], "micol") == [
        Label(id="90001", name="seaweed", definition="large algae of the sea"),
        Label(id="90002", name="wrack", synonyms=("bladder wrack",)),
    ]


WRACK = Label(
    id="w",
    name="Wrack",
    synonyms=("Bladder wrack", "Fucus"),
    definition="Brown seaweed, grows on stones.",
    broader=("s",),
)


def test_table_sample_and_its_variants(folder: Path):
    assert read(SAMPLE["tables"], "tables") == [WRACK, Label(id="s", name="Seaweed")]
    path = folder / "labels.tsv"
    path.write_text('Term\tEntry terms\tScope note\n"Wrack"\tFucus|Tang\t"over\ntwo lines"\nSeaweed\n')
    assert list(read_labels(path)) == [
        Label(id="Wrack", name="Wrack", synonyms=("Fucus", "Tang"), definition="over two lines"),
        Label(id="Seaweed", name="Seaweed"),
    ]


def test_table_columns_can_be_named(folder: Path):
    path = folder / "columns.csv"
    path.write_text("Nr,Wort\n1,Tang\n")
    assert read(path, "tables", {"id": "Nr", "name": "Wort"}) == [Label(id="1", name="Tang")]
    with pytest.raises(InputError, match="no column 'name'; columns: Nr, Wort"):
        read(path, "tables")
    with pytest.raises(InputError, match="no column 'Word' for name; columns: Nr, Wort"):
        read(path, "tables", {"name": "Word"})
    with pytest.raises(InputError, match="no field 'title'; fields: id, name"):
        read(path, "tables", {"title": "Wort"})


def test_labels_of_annifs_csv_without_names_are_deprecated(folder: Path):
    path, report = folder / "subjects.csv", ReadReport()
    path.write_text(f"uri,label_en,label_fi\n{SHORE}w,wrack,rakkolevä\n{SHORE}old,,\n", encoding="utf-8")
    assert list(read_labels(path, report=report)) == [Label(id=f"{SHORE}w", name="wrack")]
    assert report.files[0].note == "1 deprecated label left out"
    path.write_text(f"uri,label\n{SHORE}w,wrack\n{SHORE}old,\n", encoding="utf-8")
    with pytest.raises(InputError, match="no name"):
        list(read_labels(path))


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize(("mark", "left", "right"), [("", "<", ">"), ("\ufeff", "", "")])
def test_annif_vocabularies_without_header(folder: Path, ends: str, mark: str, left: str, right: str):
    path, report = folder / "subjects.tsv", ReadReport()
    rows = [
        f"{left}{SHORE}old{right}",
        f"{left}{SHORE}w{right}\twrack\t1.2",
        f"{left}{SHORE}s{right}\tseaweed\t",
        "x\ty\tz\tw",
    ]
    path.write_text(mark + ends.join([*rows[:2], "", *rows[2:], ""]), encoding="utf-8", newline="")
    labels = list(read_labels(path, skip_bad=True, report=report))
    assert labels == [Label(id=f"{SHORE}w", name="wrack", codes=("1.2",)), Label(id=f"{SHORE}s", name="seaweed")]
    assert (report.files[0].format, report.files[0].note) == ("annif", "1 deprecated label left out")
    assert [str(item).partition("subjects.tsv")[2] for item in report.skipped] == [
        ", record 4 (line 5): 'x\\ty\\tz\\tw' has more than a URI, a label and a notation"
    ]


def test_table_columns_of_languages_brackets_and_notations(folder: Path):
    path, report = folder / "languages.csv", ReadReport()
    path.write_text(
        "uri,notation,label_fi,skos:prefLabel@en,altLabel@en,altLabel (fi),name_id\n"
        "<http://x/1>,1.2,rakkolevä,wrack,bladder wrack; black tang,levä,7\nhttp://x/2,,levä,,seaweed,merilevä,8\n"
    )
    assert list(read_labels(path, report=report)) == [
        Label(id="http://x/1", name="wrack", synonyms=("bladder wrack", "black tang"), codes=("1.2",)),
        Label(id="http://x/2", name="levä", synonyms=("seaweed", "merilevä")),
    ]
    assert report.files[0].note == "1 name is in another language than en: fi 1"
    finnish = [label.name for label in read_labels(path, options=ReadOptions(language="fi"))]
    assert finnish == ["rakkolevä", "levä"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "r.csv",
            "id,name,synonyms,definition,codes\n1,tide,NA; ebb,N/A,-\n2,NA,,,\n3,n/a,,,\nNA,Namibia,null,None,nan\n",
        ),
        (
            "r.jsonl",
            '{"id": "1", "name": "tide", "synonyms": ["NA", "ebb"], "definition": "null", "codes": ["-"]}\n'
            '{"id": "2", "name": "NaN"}\n{"id": "3", "name": "-"}\n{"id": "NA", "name": "Namibia"}\n',
        ),
        ("r.txt", "1\ttide\tNA\tebb\r\n2\tNA\r\n3\tNone\r\nNA\tNamibia\r\n"),
    ],
)
def test_values_that_mean_none_are_no_names(folder: Path, name: str, text: str):
    path, report = folder / name, ReadReport()
    path.write_text(text, newline="")
    labels = [Label(id="1", name="tide", synonyms=("ebb",)), Label(id="NA", name="Namibia")]
    assert list(read_labels(path, skip_bad=True, report=report)) == labels
    assert [item.reason for item in report.skipped] == ["no name", "no name"]


def test_table_without_header_says_so(folder: Path):
    path = folder / "bare.csv"
    path.write_text("1,tide\n2,ebb\n")
    with pytest.raises(
        InputError, match="no column 'name'; columns: 1, tide; rename one to 'name', or put a header line"
    ):
        list(read_labels(path))


def test_table_rows_that_cannot_be_used(folder: Path):
    path = folder / "bad.csv"
    path.write_text('id,name\n1,a,b\n2,"b"x\n3,c\n4,"open\n5,e\n')
    wide, quoted, good, unclosed, last = read(path, "tables")
    assert (good, last) == (Label(id="3", name="c"), Label(id="5", name="e"))
    for bad, line in ((wide, 2), (quoted, 3), (unclosed, 5)):
        assert isinstance(bad, BadRecord)
        assert bad.line == line


@pytest.mark.parametrize("reader", SAMPLE)
@given(data=st.binary(max_size=150), cut=st.integers(0, 3000), noise=st.binary(max_size=4))
def test_broken_files_raise_nothing_but_input_errors(folder: Path, reader: str, data: bytes, cut: int, noise: bytes):
    path = folder / SAMPLE[reader].name
    whole = SAMPLE[reader].read_bytes()
    for content in (data, whole[:cut], whole[:cut] + noise + whole[cut:]):
        path.write_bytes(content)
        report = ReadReport()
        try:
            found = list(read_labels(path, reader=reader, skip_bad=True, report=report))
        except InputError:
            continue
        assert len(found) + report.skipped_count > 0


words = st.from_regex(r"[A-Za-zÀ-ž0-9][A-Za-zÀ-ž0-9 ,'\"-]{0,10}[a-z]", fullmatch=True)
names = st.lists(words, unique=True, max_size=3).map(tuple)
labels = st.lists(
    st.builds(
        Label,
        id=st.from_regex(r"[A-Z]?[0-9]{1,6}", fullmatch=True),
        name=words,
        synonyms=names,
        definition=st.just("") | words,
        broader=names,
        codes=names,
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda label: label.id,
)


@given(labels)
def test_our_rows_come_back(folder: Path, written: list[Label]):
    path = folder / "labels.jsonl"
    path.write_text("".join(json.dumps(label.to_json()) + "\n" for label in written))
    assert read(path, "jsonl") == written


@given(labels)
def test_tables_come_back(folder: Path, written: list[Label]):
    import csv

    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["id", "name", "synonyms", "definition", "broader", "codes"])
    for label in written:
        lists = ["; ".join(items) for items in (label.synonyms, label.broader, label.codes)]
        table.writerow([label.id, label.name, lists[0], label.definition, *lists[1:]])
    path = folder / "written.csv"
    path.write_text(text.getvalue(), encoding="utf-8")
    assert read(path, "tables") == written


@given(labels)
def test_maple_and_micol_come_back(folder: Path, written: list[Label]):
    path = folder / "written.txt"
    path.write_text("".join("\t".join([item.id, item.name, *item.synonyms]) + "\n" for item in written))
    expected = [(item.id, item.name, tuple(s for s in item.synonyms if s != item.name)) for item in written]
    found = read(path, "maple")
    assert [(item.id, item.name, item.synonyms) for item in found if isinstance(item, Label)] == expected
    rows = [{"label": item.id, "name": [item.name, *item.synonyms], "definition": item.definition} for item in written]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read(path, "micol")
    assert [(item.id, item.name, item.synonyms) for item in found if isinstance(item, Label)] == expected


@given(labels)
def test_skos_comes_back(folder: Path, written: list[Label]):
    import rdflib
    from rdflib import RDF, SKOS, Literal, URIRef

    graph = rdflib.Graph()
    for label in written:
        concept = URIRef(SHORE + label.id)
        graph.add((concept, RDF.type, SKOS.Concept))
        graph.add((concept, SKOS.prefLabel, Literal(label.name, "en")))
        for synonym in label.synonyms:
            graph.add((concept, SKOS.altLabel, Literal(synonym, "en")))
        for code in label.codes:
            graph.add((concept, SKOS.notation, Literal(code)))
        if label.definition:
            graph.add((concept, SKOS.definition, Literal(label.definition, "en")))
    path = folder / "written.ttl"
    path.write_text(graph.serialize(format="turtle"), encoding="utf-8")
    found = {item.id: item for item in read(path, "skos") if isinstance(item, Label)}
    assert len(found) == len(written)
    for label in written:
        item = found[SHORE + label.id]
        assert (item.name, item.definition) == (label.name, label.definition)
        assert set(item.synonyms) == set(label.synonyms)
        assert set(item.codes) == set(label.codes)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "count", "example"),
    [
        ("labels_arxiv/categories", 176, ("cs.CL", "Computation and Language")),
        ("labels_mesh/descriptors", 27_455, ("D000001", "Calcimycin")),
        ("labels_uat/concepts", 2_372, ("0", "DC stars")),
    ],
)
def test_real_vocabularies(name: str, count: int, example: tuple[str, str]):
    found = {label.id: label for label in read_labels(Path(os.environ["SCIPRISM_DATA"]) / f"{name}.jsonl.gz")}
    assert len(found) == count
    assert found[example[0]].name == example[1]


def test_codes_keep_their_zeros(folder: Path):
    """rdflib 7.6 reads "0610"^^xsd:integer as 610 unless it is set not to."""
    path = folder / "codes.ttl"
    path.write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
        '<http://x/1> a skos:Concept ; skos:prefLabel "wrack"@en ; skos:notation "0610"^^xsd:integer .\n'
    )
    assert [label.codes for label in read_labels(path)] == [("0610",)]
