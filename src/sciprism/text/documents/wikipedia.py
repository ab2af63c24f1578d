"""Articles of a Wikipedia dump: pages-articles XML, plain or compressed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sciprism.papers.input_file import BadRecord
from sciprism.papers.records import Paper
from sciprism.papers.xml_records import read_xml_records, text_of
from sciprism.text.documents.document import Document, DocumentFile, join_paragraphs, read_head
from sciprism.text.documents.registry import document_readers
from sciprism.text.documents.wikitext import strip_wikitext

LICENCE = "CC BY-SA"
NOT_ARTICLE, REDIRECT = "page that is no article", "redirect"
_START = re.compile(r"<mediawiki\b[^>]*>")
_NAMESPACE = re.compile(r'xmlns="([^"]*)"')
_LANGUAGE = re.compile(r'xml:lang="([^"]*)"')


class WikipediaReader:
    """Read the articles (namespace 0, no redirects) one at a time."""

    suffixes: tuple[str, ...] = (".xml",)

    def recognises(self, head: str) -> bool:
        """Look for the outer element of a dump."""
        return _START.search(head) is not None

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield each article, its title first; ids are page ids."""
        root = found[0] if (found := _START.search(read_head(file.path))) else ""
        space = f"{{{found[1]}}}" if (found := _NAMESPACE.search(root)) else ""
        language = found[1] if (found := _LANGUAGE.search(root)) else ""
        for page in read_xml_records(file.input_file, (f"{space}page",)):
            if isinstance(page, BadRecord):
                file.drop_record(file.path.name, page.reason)
                continue
            name, title = text_of(page, f"{space}id"), text_of(page, f"{space}title")
            if text_of(page, f"{space}ns") not in ("", "0"):
                file.dropped.add(NOT_ARTICLE, title)
            elif page.find(f"{space}redirect") is not None:
                file.dropped.add(REDIRECT, title)
            else:
                text = strip_wikitext(page.findtext(f"{space}revision/{space}text") or "")
                yield Document(
                    id=f"wikipedia:{name}",
                    text=join_paragraphs(title, text) if text else "",
                    paper=Paper(id=f"wikipedia:{name}", title=title, abstract=text[:2000]),
                    language=language,
                    licence=LICENCE,
                )


document_readers.register("wikipedia")(WikipediaReader())
