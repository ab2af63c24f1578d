"""The probes and label rankings of the open suite: classes, numbers and vocabularies."""

from __future__ import annotations

from sciprism.datasets.layouts.open.classes import Classes, Numbers
from sciprism.datasets.layouts.open.drawn import Sizes
from sciprism.datasets.layouts.open.vocabularies import ClassNames, Headings
from sciprism.evaluation.protocols.label import LabelRanking
from sciprism.evaluation.protocols.nearest_label import NearestLabel
from sciprism.evaluation.protocols.probe import FewShot, Probe
from sciprism.evaluation.task import Task

ARXIV = Sizes(train=2000, dev=500, test=1500, years=(2019, 2019))
ARXIV_ALL_YEARS = Sizes(train=2000, dev=500, test=1000, years=(1990, 2017))  # no train paper is later
CONFERENCES = Sizes(train=2000, dev=500, test=1500)
MEDLINE = Sizes(train=2000, test=1500)
VIS = Sizes(train=1000, dev=100)
SENTENCES = Sizes(train=4000, dev=500)

# No published table is matched here: probes have an intercept, and the squared hinge for several labels too.
# With MiniLM on biomimicry that is 0.48 instead of 0.33 (hinge, no intercept), in a quarter of the time.
CLASSES = Probe(loss="squared_hinge", metric="f1_macro", intercept=True)
RANKING = Probe(loss="squared_hinge", metric="average_precision", intercept=True)
FEW_SHOT = Probe(
    loss="squared_hinge",
    metric="f1_macro",
    intercept=True,
    few_shot=(FewShot(size=16, iterations=20, per_label=True),),
)
NUMBERS = Probe(loss="epsilon_insensitive", metric="kendall_tau", intercept=True)
NEAREST = NearestLabel()
RANKED = LabelRanking()
NAMES_FIRST = LabelRanking(names_first=True, raw_names=True)
# arXiv's categories are 152: twenty of them would be nearly always enough.
SHALLOW = ("recall@5", "recall@10", "recall@20")
FEW_RANKED = LabelRanking(metrics=SHALLOW)
FEW_NAMES_FIRST = LabelRanking(metrics=SHALLOW, names_first=True, raw_names=True)
FEW_NAMES_ONLY = LabelRanking(metrics=SHALLOW, text="name")

OHSUMED = """
Bacterial Infections and Mycoses; Virus Diseases; Parasitic Diseases; Neoplasms; Musculoskeletal Diseases;
Digestive System Diseases; Stomatognathic Diseases; Respiratory Tract Diseases; Otorhinolaryngologic
Diseases; Nervous System Diseases; Eye Diseases; Urologic and Male Genital Diseases; Female Genital
Diseases and Pregnancy Complications; Cardiovascular Diseases; Hemic and Lymphatic Diseases; Neonatal
Diseases and Abnormalities; Skin and Connective Tissue Diseases; Nutritional and Metabolic Diseases;
Endocrine Diseases; Immunologic Diseases; Disorders of Environmental Origin; Animal Diseases; Pathological
Conditions, Signs and Symptoms
"""
S2ORC = """
Art; Biology; Business; Chemistry; Computer Science; Economics; Engineering; Geography; Geology; History;
Materials Science; Mathematics; Medicine; Philosophy; Physics; Political Science; Psychology; Sociology
"""


def same(names: str) -> tuple[tuple[str, str], ...]:
    """Return (class, name) for classes that the data call by a readable name; names end with a semicolon."""
    return tuple((name, name) for name in (" ".join(part.split()) for part in names.split(";")))


# Fields as the data write them, and as a reader would.
ARXIV_FIELDS = (
    ("Astronomy and Space Science", "Astronomy, astrophysics and space science"),
    ("Biology", "Biology"),
    ("Chemistry", "Chemistry and chemical physics"),
    ("Computer Science", "Computer science"),
    ("Condensed Matter Physics", "Condensed matter physics"),
    ("Earth Science", "Earth, atmospheric and ocean science"),
    ("Economics and Finance", "Economics and finance"),
    ("Electrical Engineering", "Electrical engineering and systems"),
    ("General Physics", "General physics"),
    ("High Energy and Nuclear Physics", "High energy and nuclear physics"),
    ("Materials Science", "Materials science"),
    ("Mathematics", "Mathematics"),
    ("Medicine", "Medicine and medical physics"),
    ("Nonlinear Science", "Nonlinear dynamics, chaos and complex systems"),
    ("Quantum and Atomic Physics", "Quantum and atomic physics"),
    ("Social Science", "Social science and society"),
    ("Statistics", "Statistics"),
)
MAG_FIELDS = tuple(
    (name, name.capitalize())
    for name in ("business", "economics", "geography", "medicine", "politics", "psychology", "sociology")
)

CLASSIFICATION = (
    Task(
        name="arxiv-field",
        format="classification",
        protocol=CLASSES,
        data=Classes(data="arxiv_multidomain", target="field", sizes=ARXIV),
        group="coarse",
        in_train=True,
        reference="17 broad fields; trained on papers up to 2017, tested on those of 2019",
    ),
    Task(
        name="mag-titles",
        format="classification",
        protocol=CLASSES,
        data=Classes(data="cls_mag_titles", target="label", sizes=Sizes(train=6000, test=2500)),
        group="coarse",
        in_train=True,
        reference="7 fields of Microsoft Academic Graph from titles alone (Beltagy et al. 2019, Paper Field)",
    ),
    Task(
        name="ohsumed",
        format="classification",
        protocol=CLASSES,
        data=Classes(data="cls_ohsumed", target="label", sizes=MEDLINE),
        group="coarse",
        in_train=False,  # diseases are MeSH, but the set and its years (1987-1991) are in no recipe
        reference="23 disease classes, the single-label part (Hersh et al. 1994; Yao et al. 2019)",
    ),
    Task(
        name="hallmarks",
        format="classification",
        protocol=CLASSES,
        data=Classes(data="cls_hallmarks_of_cancer", target="labels"),
        group="classification",
        in_train=False,  # processes of a disease, not topics
        reference="10 hallmarks of cancer, several a paper (Baker et al. 2016), split of BLURB",
    ),
    Task(
        name="biomimicry",
        format="classification",
        protocol=FEW_SHOT,
        data=Classes(data="cls_biomimicry", target="labels_level1"),
        group="classification",
        in_train=False,  # functions of organisms, not topics
        reference="10 functions of the first level, several a paper (SciRepEval, table 1, has a like task)",
    ),
    Task(
        name="screening",
        format="classification",
        protocol=RANKING,
        data=Classes(
            data="cls_systematic_review_screening",
            target="label",
            group="topic",
            positive="1",
            sizes=Sizes(train=2000, test=2000),
        ),
        group="classification",
        in_train=False,  # whether a paper answers a review's question is another matter than its topic
        reference="13 systematic reviews (Cohen et al. 2006, ASReview), each a problem of its own",
    ),
    Task(
        name="citation-intent",
        format="classification",
        protocol=CLASSES,
        data=Classes(data="cls_citation_intent", target="label"),
        group="classification",
        in_train=False,  # sentences, and why they cite
        reference="6 intents, ACL-ARC (Jurgens et al. 2018)",
    ),
    Task(
        name="scicite",
        format="classification",
        protocol=CLASSES,
        data=Classes(data="cls_scicite", target="label", sizes=SENTENCES),
        group="classification",
        in_train=False,  # sentences, and why they cite
        reference="3 intents (Cohan et al. 2019)",
    ),
)

REGRESSION = (
    Task(
        name="citation-count",
        format="regression",
        protocol=NUMBERS,
        data=Numbers(
            data="conference_papers", target="citation_count", scale="rank share", sizes=CONFERENCES
        ),
        group="regression",
        in_train=True,
        reference="share of the papers of the same venue and year that are cited less",
    ),
    Task(
        name="vis-citation-count",
        format="regression",
        protocol=NUMBERS,
        data=Numbers(data="citegraph_vis", target="citation_count", scale="rank share", sizes=VIS),
        group="regression",
        in_train=True,
        reference="the same over visualization papers; trained up to 2014, tested from 2016 on",
    ),
    Task(
        name="conference-year",
        format="regression",
        protocol=NUMBERS,
        data=Numbers(data="conference_papers", target="year", sizes=CONFERENCES),
        group="regression",
        in_train=True,
        reference="year of publication, 1987-2025 (SciRepEval, table 1, has a like task)",
    ),
    Task(
        name="arxiv-year",
        format="regression",
        protocol=NUMBERS,
        data=Numbers(data="arxiv_multidomain", target="year", sizes=ARXIV_ALL_YEARS),
        group="regression",
        in_train=True,
        reference="year of the record over 17 fields; test papers of all years up to 2017",
    ),
    Task(
        name="review-score",
        format="regression",
        protocol=NUMBERS,
        data=Numbers(data="conference_papers", target="review_rating_mean", scale="deviation"),
        group="regression",
        in_train=False,  # what reviewers thought is in no recipe
        reference="mean rating, as deviation within venue and year: ICLR 2018, CoRL, COLM, ALT",
    ),
)

ARXIV_LABELS = Headings(data="arxiv_multidomain", terms="categories", vocabulary="arxiv", sizes=ARXIV)
MESH_LABELS = Headings(data="xmc_pubmed_mesh", terms="mesh", vocabulary="mesh")
KEYWORDS = Headings(data="conference_papers", terms="keywords", sizes=CONFERENCES)
VIS_KEYWORDS = Headings(data="citegraph_vis", terms="keywords")


def labels(name: str, data: Headings, protocol: LabelRanking, *, in_train: bool, reference: str) -> Task:
    """Return a task of ranking a vocabulary for each paper."""
    return Task(
        name=name,
        format="classification",
        protocol=protocol,
        data=data,
        group="fine",
        in_train=in_train,
        reference=reference,
    )


def nearest(name: str, data: ClassNames, *, in_train: bool, reference: str) -> Task:
    """Return a task of choosing the class whose name is nearest."""
    return Task(
        name=name,
        format="classification",
        protocol=NEAREST,
        data=data,
        group="coarse",
        in_train=in_train,
        reference=reference,
    )


_FIRST, _ONLY = (
    "the same, labels whose name is in the paper first (SciMult, 4.1)",
    "the same, without definitions",
)
LABELS = (
    labels("arxiv-categories", ARXIV_LABELS, FEW_RANKED, in_train=True, reference="152 categories, defined"),
    labels("arxiv-categories-names-first", ARXIV_LABELS, FEW_NAMES_FIRST, in_train=True, reference=_FIRST),
    labels("arxiv-categories-names-only", ARXIV_LABELS, FEW_NAMES_ONLY, in_train=True, reference=_ONLY),
    labels("mesh-headings", MESH_LABELS, RANKED, in_train=True, reference="27,455 MeSH descriptors by name"),
    labels("mesh-headings-names-first", MESH_LABELS, NAMES_FIRST, in_train=True, reference=_FIRST),
    # Words that authors chose freely; no recipe has them.
    labels(
        "conference-keywords", KEYWORDS, RANKED, in_train=False, reference="keywords carried twice or more"
    ),
    labels("conference-keywords-names-first", KEYWORDS, NAMES_FIRST, in_train=False, reference=_FIRST),
    labels("vis-keywords", VIS_KEYWORDS, RANKED, in_train=False, reference="keywords carried twice or more"),
    labels("vis-keywords-names-first", VIS_KEYWORDS, NAMES_FIRST, in_train=False, reference=_FIRST),
    nearest(
        "arxiv-field-names",
        ClassNames(data="arxiv_multidomain", target="field", names=ARXIV_FIELDS, sizes=ARXIV),
        in_train=True,
        reference="the nearest of 17 field names (as SciMult, table 4, bi-encoder)",
    ),
    nearest(
        "mag-title-names",
        ClassNames(data="cls_mag_titles", target="label", names=MAG_FIELDS, sizes=Sizes(test=2500)),
        in_train=True,
        reference="the nearest of 7 field names, titles alone",
    ),
    nearest(
        "ohsumed-names",
        ClassNames(data="cls_ohsumed", target="label_name", names=same(OHSUMED), sizes=MEDLINE),
        in_train=False,
        reference="the nearest of 23 names of disease classes",
    ),
    nearest(
        "s2orc-field-names",
        ClassNames(data="cls_s2orc_fields", target="fields", names=same(S2ORC)),
        in_train=True,
        reference="the nearest of 18 field names, papers of all sciences (Lo et al. 2020)",
    ),
)
