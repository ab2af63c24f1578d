#!/usr/bin/env bash
# Guess: 10<sup>6</sup> in an abstract stays a power, and a group that wrote a paper is among its authors.
# Behaviour: the text says 106, and the group is an author without a name.
# Matters: numbers in abstracts of MEDLINE, and author matching (an empty name equals an empty name).
# Source: pubmed_parser/medline_parser.py, stringify_children and parse_author_affiliation.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "pubmed_parser==0.5.1" "lxml==6.1.1" "requests==2.34.2"
cat > papers.xml <<'EOF'
<?xml version="1.0" encoding="utf-8"?>
<PubmedArticleSet><PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">1</PMID><Article>
<Journal><Title>Lakes</Title><JournalIssue><PubDate><Year>2020</Year></PubDate></JournalIssue></Journal>
<ArticleTitle>Cells in lakes.</ArticleTitle>
<Abstract><AbstractText>There were 10<sup>6</sup> cells.</AbstractText></Abstract>
<AuthorList><Author><LastName>Keller</LastName><ForeName>Ada</ForeName><Initials>A</Initials></Author>
<Author><CollectiveName>Tidal Zone Study Group</CollectiveName></Author></AuthorList>
</Article></MedlineCitation></PubmedArticle></PubmedArticleSet>
EOF
gzip papers.xml
venv/bin/python - <<'EOF'
import sys
from importlib.metadata import version

from pubmed_parser import parse_medline_xml

print("pubmed_parser", version("pubmed_parser"))
[paper] = parse_medline_xml("papers.xml.gz")
print("guess: 10^6 cells or 10⁶; Keller and Tidal Zone Study Group")
print("seen:", repr(paper["abstract"]), repr(paper["authors"]))
same = "106 cells" in paper["abstract"] and "Tidal" not in paper["authors"] and ";" in paper["authors"]
sys.exit(0 if same else "the behaviour changed")
EOF
