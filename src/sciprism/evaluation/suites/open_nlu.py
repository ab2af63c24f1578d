"""Fine-tuning over freely available data: entities, relations, questions, similarity, classes of texts.

Many are variants of BLURB's sets: ChemProt has no pairs without a relation, PICO trains on what was a dev
part, the dev parts of DDI and PubMedQA are sampled by a hash; of others only some counts are known to agree.
So they have other names, and no average of them is BLURB's.
"""

from __future__ import annotations

from sciprism.datasets.layouts.language.drugs import DrugPairs
from sciprism.datasets.layouts.language.hallmarks import HallmarkAbstracts
from sciprism.datasets.layouts.language.parts import PartFiles
from sciprism.datasets.layouts.language.questions import DocumentQuestions
from sciprism.datasets.layouts.language.spans import MarkedDocuments
from sciprism.datasets.layouts.language.texts import LabelledTexts
from sciprism.datasets.layouts.language.words import WordTags
from sciprism.evaluation.protocols.pair import PairProtocol
from sciprism.evaluation.protocols.span import SpanProtocol
from sciprism.evaluation.protocols.tag import TagProtocol
from sciprism.evaluation.suites.registry import register_suite
from sciprism.evaluation.task import Average, DataLayout, Task, TaskProtocol
from sciprism.evaluation.tuning.settings import Tuning

DEV = 0.1
"""Share of train that becomes dev where the data have none."""
# Small encoders learn little at the rates of large ones. Sets of under 2,000 texts need more epochs.
LARGE = Tuning(rates=(3e-5, 1e-4, 3e-4), batches=(32,), epochs=(3,), seeds=3)
SMALL = Tuning(rates=(3e-5, 1e-4, 3e-4), batches=(16,), epochs=(15,), seeds=3)


def folder(name: str) -> PartFiles:
    """Return the files of a folder: train, test, and dev if there is one."""
    return PartFiles(folders=(name,))


def task(name: str, group: str, data: DataLayout, protocol: TaskProtocol, reference: str, remark: str = "") -> Task:
    """Return the task of one data set; averages take its first number."""
    return Task(
        name=f"open-{name}",
        format="classification",
        protocol=protocol,
        data=data,
        group=group,
        numbers="first",
        reference=reference,
        remark=remark,
    )


def entities(name: str, data: DataLayout, reference: str, remark: str = "") -> Task:
    """Return a set of tagged mentions."""
    return task(
        name,
        "entities",
        data,
        TagProtocol(metric="entity_f1", length=128, stride=32, tuning=LARGE),
        reference,
        remark,
    )


TASKS = (
    entities(
        "bc5cdr-chemical",
        WordTags(files=folder("ner_bc5cdr"), only="Chemical"),
        "chemicals of BC5CDR (Li et al. 2016), as Crichton et al. (2017) cut them",
    ),
    entities(
        "bc5cdr-disease",
        WordTags(files=folder("ner_bc5cdr"), only="Disease"),
        "diseases of BC5CDR (Li et al. 2016), as Crichton et al. (2017) cut them",
    ),
    entities("ncbi", WordTags(files=folder("ner_ncbi_disease")), "NCBI Disease (Doğan et al. 2014)"),
    entities("genes", WordTags(files=folder("ner_bc2gm")), "BC2GM (Smith et al. 2008)"),
    entities(
        "jnlpba-merged",
        WordTags(files=folder("ner_jnlpba"), merged=True),
        "JNLPBA (Kim et al. 2004), its five types as one",
    ),
    entities("anatomy", WordTags(files=folder("ner_anatem")), "AnatEM (Pyysalo and Ananiadou 2014)"),
    entities("cancer-genetics", WordTags(files=folder("ner_bionlp13cg")), "BioNLP 2013 CG (Pyysalo et al. 2013)"),
    entities("infections", WordTags(files=folder("ner_bionlp11id")), "BioNLP 2011 ID (Pyysalo et al. 2011)"),
    entities("craft", WordTags(files=folder("ner_craft")), "CRAFT, full articles (Bada et al. 2012)"),
    entities(
        "climate",
        MarkedDocuments(path="ie_climate/documents.jsonl.gz"),
        "ClimateIE: articles of climate science marked by experts",
        "in place of Climate-Change NER (534 abstracts, 13 types): 25 articles, 12 types",
    ),
    entities(
        "planetary",
        MarkedDocuments(path="ie_planetary_lpsc/documents.jsonl.gz"),
        "abstracts of planetary science (Wagstaff et al. 2018), trained on 2015, tested on 2016",
    ),
    task(
        "pico",
        "pico",
        WordTags(files=folder("ner_ebmnlp_pico"), dev_share=DEV),
        TagProtocol(metric="word_f1_macro", length=128, stride=32, tuning=LARGE),
        "EBM-NLP (Nye et al. 2018), by sentences; train is what was its dev",
    ),
    task(
        "chemprot-positive",
        "relations",
        LabelledTexts(files=folder("re_chemprot")),
        PairProtocol(metric="f1_micro", length=256, tuning=LARGE),
        "ChemProt (Krallinger et al. 2017), related pairs alone, 13 types, entities marked by brackets",
    ),
    task(
        "ddi-2013",
        "relations",
        DrugPairs(files=folder("re_ddi2013"), dev_share=DEV),
        PairProtocol(metric="f1_micro", negative="false", length=256, tuning=LARGE),
        "DDI 2013 (Herrero-Zazo et al. 2013); dev is a tenth of the train documents",
    ),
    task(
        "gad-fold",
        "relations",
        LabelledTexts(files=folder("re_gad")),
        PairProtocol(metric="f1_binary", positive="1", length=128, tuning=LARGE),
        "GAD (Bravo et al. 2015), one fold",
    ),
    task(
        "hallmarks",
        "texts",
        HallmarkAbstracts(files=folder("cls_hallmarks_of_cancer")),
        PairProtocol(metric="f1_micro", length=256, tuning=SMALL),
        "Hallmarks of Cancer (Baker et al. 2016), by abstract",
    ),
    task(
        "scicite",
        "texts",
        LabelledTexts(files=folder("cls_scicite")),
        PairProtocol(metric="f1_macro", length=128, tuning=LARGE),
        "SciCite (Cohan et al. 2019)",
    ),
    task(
        "acl-arc",
        "texts",
        LabelledTexts(files=folder("cls_citation_intent")),
        PairProtocol(metric="f1_macro", length=128, tuning=SMALL),
        "citation intent of ACL-ARC (Jurgens et al. 2018); over a third of the test texts train too",
    ),
    task(
        "pubmedqa-labelled",
        "questions",
        LabelledTexts(files=folder("qa_pubmedqa"), pairs=True, dev_share=DEV),
        PairProtocol(metric="accuracy", length=512, tuning=SMALL),
        "PubMedQA (Jin et al. 2019), its own 500 test questions; dev is a tenth of train",
    ),
    task(
        "bioasq-7b",
        "questions",
        LabelledTexts(files=folder("qa_bioasq_yesno_blurb"), pairs=True),
        PairProtocol(metric="accuracy", length=512, tuning=SMALL),
        "BioASQ 7b, yes or no (Nentidis et al. 2020)",
    ),
    task(
        "covid-qa",
        "spans",
        DocumentQuestions(folder="qa_covidqa"),
        SpanProtocol(length=384, stride=128, unanswerable=False, max_empty_windows=2, tuning=LARGE),
        "COVID-QA (Möller et al. 2020), divided by article",
        "in place of NASA-QA (195 questions on Earth science): 1,380 questions on 98 articles on COVID-19",
    ),
    task(
        "sentence-similarity",
        "similarity",
        LabelledTexts(files=folder("sim_biosses"), pairs=True, target="number"),
        PairProtocol(metric="pearson", length=128, tuning=SMALL),
        "BIOSSES (Soğancıoğlu et al. 2017), 20 test pairs",
    ),
)

register_suite(
    "open-nlu",
    tasks=TASKS,
    averages=tuple(
        Average(name=group, tasks=tuple(task.name for task in TASKS if task.group == group))
        for group in dict.fromkeys(task.group for task in TASKS)
    ),
    views={
        "quick": (
            "open-infections",
            "open-gad-fold",
            "open-acl-arc",
            "open-bioasq-7b",
            "open-sentence-similarity",
        )
    },
    reference="protocols of BLURB and INDUS over data that are open",
    remark="many sets are variants of BLURB's in form or split, and no average of them is BLURB's",
)
