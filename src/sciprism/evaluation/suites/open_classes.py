"""The probes and label rankings of the open suite: classes, numbers and vocabularies."""

from __future__ import annotations

from functools import partial

from sciprism.datasets.layouts.open.classes import PaperClasses, PaperNumbers
from sciprism.datasets.layouts.open.sampling import SampleSizes
from sciprism.datasets.layouts.open.vocabularies import ClassNames, Headings
from sciprism.evaluation.protocols.label import LabelProtocol
from sciprism.evaluation.protocols.nearest_label import NearestLabelProtocol
from sciprism.evaluation.protocols.probe import FewShot, ProbeProtocol
from sciprism.evaluation.task import Task

ARXIV = SampleSizes(train=2000, dev=500, test=1500, years=(2019, 2019))
CONFERENCES = SampleSizes(train=2000, dev=500, test=1500)
MEDLINE = SampleSizes(train=2000, test=1500)

# No published table is matched: probes have an intercept, and the squared hinge even for several labels.
# With MiniLM on biomimicry that gives 0.48 instead of 0.33 (hinge, no intercept), in a quarter of the time.
CLASSES = ProbeProtocol(loss="squared_hinge", metric="f1_macro", intercept=True)
RANKING = ProbeProtocol(loss="squared_hinge", metric="average_precision", intercept=True)
FEW_SHOT = ProbeProtocol(
    loss="squared_hinge",
    metric="f1_macro",
    intercept=True,
    few_shot=(FewShot(size=16, iterations=20, per_label=True),),
)
NUMBERS = ProbeProtocol(loss="epsilon_insensitive", metric="kendall_tau", intercept=True)
NAMES_FIRST = LabelProtocol(names_first=True, raw_names=True)
# Of arXiv's 152 categories, twenty nearly always include the right ones.
SHALLOW = ("recall@5", "recall@10", "recall@20")
FEW_RANKED = LabelProtocol(metrics=SHALLOW)
FEW_NAMES_FIRST = LabelProtocol(metrics=SHALLOW, names_first=True, raw_names=True)
FEW_NAMES_ONLY = LabelProtocol(metrics=SHALLOW, text="name")

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


def readable_classes(names: str) -> tuple[tuple[str, str], ...]:
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

classification = partial(Task, format="classification", protocol=CLASSES, group="classification", in_train=False)
CLASSIFICATION = (
    classification(
        name="arxiv-field",
        data=PaperClasses(data="arxiv_multidomain", target="field", sizes=ARXIV),
        group="coarse",
        in_train=True,
        reference="17 broad fields; trained on papers up to 2017, tested on those of 2019",
        remark=(
            "in place of SciRepEval's fields of study (23) and SciDocs' MAG (19): 17 fields; 2,000 train papers up "
            "to 2017, 1,500 test papers of 2019"
        ),
    ),
    classification(
        name="mag-titles",
        data=PaperClasses(data="cls_mag_titles", target="label", sizes=SampleSizes(train=6000, test=2500)),
        group="coarse",
        in_train=True,
        reference="7 fields of Microsoft Academic Graph from titles alone (Beltagy et al. 2019, Paper Field)",
        remark=(
            "in place of SciDocs' MAG (19 fields, titles and abstracts): 7 fields, titles alone; 6,000 train, 2,500 "
            "test titles"
        ),
    ),
    classification(
        name="ohsumed",
        data=PaperClasses(data="cls_ohsumed", target="label", sizes=MEDLINE),
        group="coarse",
        in_train=False,  # diseases are MeSH, but no recipe has these classes; some have the texts of train papers
        reference="23 disease classes, the single-label part (Hersh et al. 1994; Yao et al. 2019)",
        remark="in place of SciDocs' MeSH (11 diseases): 23 classes of diseases; 2,000 train, 1,500 test papers",
    ),
    classification(
        name="hallmarks",
        data=PaperClasses(data="cls_hallmarks_of_cancer", target="labels"),
        in_train=False,  # processes of a disease, not topics
        reference="10 hallmarks of cancer, several a paper (Baker et al. 2016), split of BLURB",
        remark=(
            "in place of SciRepEval's classification out of train: 1,293 train, 371 test abstracts; a probe, where "
            "BLURB fine-tunes"
        ),
    ),
    classification(
        name="biomimicry",
        protocol=FEW_SHOT,
        data=PaperClasses(data="cls_biomimicry", target="labels_level1"),
        in_train=False,  # functions of organisms, not topics
        reference="10 functions of the first level, several a paper (SciRepEval, table 1, has a like task)",
        remark=(
            "in place of SciRepEval's Biomimicry (11,057 papers, yes or no): 10 functions; 482 train, 124 test papers"
        ),
    ),
    classification(
        name="screening",
        protocol=RANKING,
        data=PaperClasses(
            data="cls_systematic_review_screening",
            target="label",
            group="topic",
            positive="1",
            sizes=SampleSizes(train=2000, test=2000),
        ),
        in_train=False,  # whether a paper answers a review's question is another matter than its topic
        reference="13 systematic reviews (Cohen et al. 2006, ASReview), each a problem of its own",
        remark="in place of SciRepEval's classification out of train: 2,000 train, 2,000 test records of 13 reviews",
    ),
    classification(
        name="citation-intent",
        data=PaperClasses(data="cls_citation_intent", target="label"),
        in_train=False,  # sentences, and why they cite
        reference="6 intents, ACL-ARC (Jurgens et al. 2018)",
        remark="in place of SciRepEval's classification out of train: sentences; 1,520 train, 139 test",
    ),
    classification(
        name="scicite",
        data=PaperClasses(data="cls_scicite", target="label", sizes=SampleSizes(train=4000, dev=500)),
        in_train=False,  # sentences, and why they cite
        reference="3 intents (Cohan et al. 2019)",
        remark="in place of SciRepEval's classification out of train: sentences; 4,000 train, 1,861 test",
    ),
)

regression = partial(Task, format="regression", protocol=NUMBERS, group="regression", in_train=True)
REGRESSION = (
    regression(
        name="citation-count",
        data=PaperNumbers(data="conference_papers", target="citation_count", scale="rank share", sizes=CONFERENCES),
        reference="share of the papers of the same venue and year that are cited less",
        remark=(
            "in place of SciRepEval's citation count (30,058 papers, logarithms): 2,000 train, 1,500 test papers of "
            "24 venues"
        ),
    ),
    regression(
        name="vis-citation-count",
        data=PaperNumbers(
            data="citegraph_vis",
            target="citation_count",
            scale="rank share",
            sizes=SampleSizes(train=1000, dev=100),
        ),
        reference="the same over visualization papers; trained up to 2014, tested from 2016 on",
        remark="in place of SciRepEval's citation count: 1,000 train, 1,528 test papers of one field",
    ),
    regression(
        name="conference-year",
        data=PaperNumbers(data="conference_papers", target="year", sizes=CONFERENCES),
        reference="year of publication, 1987-2025 (SciRepEval, table 1, has a like task)",
        remark="in place of SciRepEval's publication year (30,000 papers after 2005): 2,000 train, 1,500 test papers",
    ),
    regression(
        name="arxiv-year",
        data=PaperNumbers(
            data="arxiv_multidomain",
            target="year",
            sizes=SampleSizes(train=2000, dev=500, test=1000, years=(1990, 2017)),  # no train paper is later
        ),
        reference="year of the record over 17 fields; test papers of all years up to 2017",
        remark="in place of SciRepEval's publication year: 2,000 train, 1,000 test papers",
    ),
    regression(
        name="review-score",
        data=PaperNumbers(data="conference_papers", target="review_rating_mean", scale="deviation"),
        in_train=False,  # what reviewers thought is in no recipe
        reference="mean rating, as deviation within venue and year: ICLR 2018, CoRL, COLM, ALT",
        remark="in place of SciRepEval's peer review score (10,210 papers of ICLR): 580 train, 1,047 test papers",
    ),
)

ARXIV_LABELS = Headings(data="arxiv_multidomain", terms="categories", vocabulary="arxiv", sizes=ARXIV)
MESH_LABELS = Headings(data="xmc_pubmed_mesh", terms="mesh", vocabulary="mesh")
KEYWORDS = Headings(data="conference_papers", terms="keywords", sizes=CONFERENCES)
VIS_KEYWORDS = Headings(data="citegraph_vis", terms="keywords")


labels = partial(Task, format="classification", protocol=LabelProtocol(), group="fine", in_train=True)
nearest = partial(Task, format="classification", protocol=NearestLabelProtocol(), group="coarse", in_train=True)
_FIRST, _ONLY = (
    "the same, labels whose name is in the paper first (SciMult, 4.1)",
    "the same, without definitions",
)
LABELS = (
    labels(
        name="arxiv-categories",
        data=ARXIV_LABELS,
        protocol=FEW_RANKED,
        reference="152 categories, defined",
        remark="in place of SciMult's fine labels (3,285 to 30,194): 152 labels, 1,500 test papers of 2019",
    ),
    labels(
        name="arxiv-categories-names-first",
        data=ARXIV_LABELS,
        protocol=FEW_NAMES_FIRST,
        reference=_FIRST,
        remark="as arxiv-categories",
    ),
    labels(
        name="arxiv-categories-names-only",
        data=ARXIV_LABELS,
        protocol=FEW_NAMES_ONLY,
        reference=_ONLY,
        remark="as arxiv-categories",
    ),
    labels(
        name="mesh-headings",
        data=MESH_LABELS,
        reference="27,455 MeSH descriptors by name",
        remark=(
            "in place of SciMult's Chemistry-MeSH (762,129 papers, 30,194 labels with definitions): 27,455 labels "
            "without, 1,326 test papers, most on drug trials"
        ),
    ),
    labels(
        name="mesh-headings-names-first",
        data=MESH_LABELS,
        protocol=NAMES_FIRST,
        reference=_FIRST,
        remark="as mesh-headings",
    ),
    # Words that authors chose freely; no recipe has them.
    labels(
        name="conference-keywords",
        data=KEYWORDS,
        in_train=False,
        reference="keywords carried twice or more",
        remark="in place of SciMult's CS-Conference (261,781 papers, 15,808 labels): 709 keywords, 1,341 test papers",
    ),
    labels(
        name="conference-keywords-names-first",
        data=KEYWORDS,
        protocol=NAMES_FIRST,
        in_train=False,
        reference=_FIRST,
        remark="as conference-keywords",
    ),
    labels(
        name="vis-keywords",
        data=VIS_KEYWORDS,
        in_train=False,
        reference="keywords carried twice or more",
        remark="in place of SciMult's fine labels: 872 keywords, 1,468 test papers of one field",
    ),
    labels(
        name="vis-keywords-names-first",
        data=VIS_KEYWORDS,
        protocol=NAMES_FIRST,
        in_train=False,
        reference=_FIRST,
        remark="as vis-keywords",
    ),
    nearest(
        name="arxiv-field-names",
        data=ClassNames(data="arxiv_multidomain", target="field", names=ARXIV_FIELDS, sizes=ARXIV),
        reference="the nearest of 17 field names (as SciMult, table 4, bi-encoder)",
        remark="in place of SciMult's MAG (19 classes, 25,001 papers): 17 fields, 1,500 test papers of 2019",
    ),
    nearest(
        name="mag-title-names",
        data=ClassNames(data="cls_mag_titles", target="label", names=MAG_FIELDS, sizes=SampleSizes(test=2500)),
        reference="the nearest of 7 field names, titles alone",
        remark="in place of SciMult's MAG: 7 fields, 2,500 test titles without abstracts",
    ),
    nearest(
        name="ohsumed-names",
        data=ClassNames(data="cls_ohsumed", target="label_name", names=readable_classes(OHSUMED), sizes=MEDLINE),
        in_train=False,
        reference="the nearest of 23 names of disease classes",
        remark="in place of SciMult's MeSH (11 classes, 23,473 papers): 23 classes, 1,500 test papers",
    ),
    nearest(
        name="s2orc-field-names",
        data=ClassNames(data="cls_s2orc_fields", target="fields", names=readable_classes(S2ORC)),
        reference="the nearest of 18 field names, papers of all sciences (Lo et al. 2020)",
        remark="in place of SciMult's MAG: 18 fields, 394 papers",
    ),
)
