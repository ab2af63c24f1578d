"""Articles of a Wikipedia dump: pages-articles XML, plain or packed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sciprism.papers.records import Paper
from sciprism.papers.source import BadRecord
from sciprism.papers.xml_records import text_of, xml_records
from sciprism.text.documents.document import NOT_READ, Document, DocumentFile, head_of, joined
from sciprism.text.documents.registry import document_readers
from sciprism.text.documents.wikitext import plain_wikitext

LICENCE = "CC BY-SA"
OTHER, REDIRECT = "page that is no article", "redirect"
_START = re.compile(r"<mediawiki\b[^>]*>")
_NAMESPACE = re.compile(r'xmlns="([^"]*)"')
_LANGUAGE = re.compile(r'xml:lang="([^"]*)"')


class Wikipedia:
    """Read the articles (namespace 0, no redirects), one at a time."""

    suffixes: tuple[str, ...] = (".xml",)

    def recognises(self, head: str) -> bool:
        """Look for the outer element of a dump."""
        return _START.search(head) is not None

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield each article, its title first; ids are the page's."""
        start = _START.search(head_of(file.path))
        told = start[0] if start else ""
        space = f"{{{found[1]}}}" if (found := _NAMESPACE.search(told)) else ""
        language = found[1] if (found := _LANGUAGE.search(told)) else ""
        for page in xml_records(file.source, (f"{space}page",)):
            if isinstance(page, BadRecord):
                file.dropped.add(NOT_READ, f"{file.path.name}: {page.reason}"[:300])
                continue
            name, title = text_of(page, f"{space}id"), text_of(page, f"{space}title")
            if text_of(page, f"{space}ns") not in ("", "0"):
                file.dropped.add(OTHER, title)
            elif page.find(f"{space}redirect") is not None:
                file.dropped.add(REDIRECT, title)
            else:
                text = plain_wikitext(page.findtext(f"{space}revision/{space}text") or "")
                yield Document(
                    id=f"wikipedia:{name}",
                    text=joined(title, text) if text else "",
                    paper=Paper(id=f"wikipedia:{name}", title=title, abstract=text[:2000]),
                    language=language,
                    licence=LICENCE,
                )


document_readers.register("wikipedia")(Wikipedia())
