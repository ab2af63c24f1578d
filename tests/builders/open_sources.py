"""A small copy of the open data, with papers that another set's test holds."""

from open_data import paper, write

SHARED = "How geckos hold on to walls of glass"
"""The title of a paper that is a test paper, whatever set it is found in."""


def title(kind, number):
    return f"A {kind} study with the running number {number}"


def write_open_data(folder):
    write(folder, "ir_csfcube/corpus", [{"_id": "1", "title": SHARED, "text": "Gecko feet."}])
    write(folder, "arxiv_multidomain/papers-0", [*_arxiv(), _arxiv_paper(999, "train") | {"title": SHARED}])
    names = ("cs.LG", "cs.CV", "q-bio.PE")
    categories = [{"id": name, "name": name.upper(), "definition": None, "alias_of": None} for name in names]
    write(folder, "labels_arxiv/categories", categories)
    write(folder, "labels_mesh/descriptors", [{"id": "D1", "name": "Humans", "tree_numbers": ["B01"]}])
    parts = {**dict.fromkeys(range(5), "train"), **dict.fromkeys(range(10, 13), "dev"), 20: "test", 21: "test"}
    about = {"mesh": ["Humans", "Odd"], "authors": None}
    drugs = [paper(f"pmid:{i}", title("drug", i), split=part, **about) for i, part in parts.items()]
    write(folder, "xmc_pubmed_mesh/papers", drugs)
    write(folder, "citegraph_vis/papers", _vis())
    write(folder, "conference_papers/papers-0", _conferences())
    write(folder, "scirepeval_samples/search", _searches())
    write(folder, "scirepeval_samples/specter_triplets", _triplets())


def _arxiv_paper(number, part):
    field = ("Biology", "Computer Science", "Alchemy")[number % 3]
    more = {"categories": [("cs.LG", "cs.CV")[number % 2], "q-bio.PE"], "authors": [f"Author {number // 2}"]}
    return paper(f"arxiv:1.{number}", title("physical", number), split=part, year=2016, field=field, **more)


def _arxiv():
    parts = (("train", range(80)), ("dev", range(100, 140)), ("test", range(200, 210)))
    return [_arxiv_paper(number, part) for part, numbers in parts for number in numbers]


def _vis():
    """Papers of 2010 cite the two before; those of 2015 are dev and cite papers of 2010; 2016 is test."""
    years = {i: 2010 if i < 40 else 2015 if i < 70 else 2016 for i in range(80)}
    cited = {i: {i - 1, i - 2} if year == 2010 else {i % 40, 75} for i, year in years.items()}
    return [
        paper(f"10.1109/vis.{i}", title("visual", i), year=year, references=[f"10.1109/vis.{j}" for j in cited[i]])
        for i, year in years.items()
    ]


def _conferences():
    years = {i: 2010 if i < 60 else 2021 if i < 90 else 2023 for i in range(100)}
    same = {"venue": "ICRA", "tldr": "We build robots that walk over ice and snow.", "keywords": ["robots"]}
    return [
        paper(f"pl-{i:08d}", title("robotic", i), year=year, author_ids=[f"ieee:{i // 5}", ""] if i % 7 else [], **same)
        for i, year in years.items()
    ]


def _searches():
    def shown(number, score, name=""):
        return {"corpus_id": number, "title": name or title("found", number), "abstract": "A.", "score": score}

    return [
        {"query": "found study", "candidates": [shown(11, 1), shown(12, 0), shown(13, 0, SHARED)]},
        {"query": "geckos", "candidates": [shown(14, 1, SHARED), shown(15, 0)]},
        {"query": SHARED.lower(), "candidates": [shown(16, 1), shown(17, 0)]},
    ]


def _triplets():
    def one(number, name=""):
        return {"corpus_id": number, "title": name or title("triple", number), "abstract": "B."}

    return [
        {"query": one(21), "pos": one(22), "neg": one(23)},
        {"query": one(24), "pos": one(25), "neg": one(26, SHARED)},
    ]
