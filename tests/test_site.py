"""The site: it is built without the network, its links exist, and it loads nothing from other hosts."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("zensical", reason='the site needs the extra "docs"')
ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from build_site import SITE, build, check  # noqa: E402


@pytest.mark.slow
def test_the_site_is_built_and_whole():
    build()
    assert check(SITE) == []
    pages = {path.parent.relative_to(SITE).as_posix(): path.read_text("utf-8") for path in SITE.rglob("index.html")}
    written = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert {"." if name == "index" else name for name in written} == set(pages)
    assert "../repository/results/encode.json" in pages["results"]
    assert (SITE / "repository" / "results" / "encode.json").is_file()
    assert pages["concepts/methods"].count("<math") > 30 and "arithmatex" not in pages["concepts/methods"]
    assert 'id="sciprism.Encoder.encode"' in pages["api"]
    method = (SITE / "repository/src/sciprism/encoders/methods/adapters.py.html").read_text("utf-8")
    assert "Bottleneck" in method and 'href="../../../../../concepts/task-types/"' in method
