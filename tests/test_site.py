"""The site: it is built without the network, its links exist, and it loads nothing from other hosts."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("zensical", reason='the site needs the extra "docs"')
ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from build_site import SITE, build, check  # noqa: E402

PAGE = '<html><body id="top"><h2 id="first">First</h2><a href="{}">a link</a>{}</body></html>'


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


@pytest.mark.parametrize(
    ("link", "more", "fault"),
    [
        ("other.html#there", "", None),
        ("https://example.org/", "", None),
        ("#first", "", None),
        ("missing.html", "", "index.html: missing.html: no such page or file"),
        ("../outside.html", "", "index.html: ../outside.html: no such page or file"),
        ("#second", "", "index.html: #second: no such anchor"),
        ("other.html#nowhere", "", "index.html: other.html#nowhere: no such anchor"),
        ("#", '<img src="missing.png">', "index.html: missing.png: no such page or file"),
        (
            "#",
            '<script src="https://cdn.example.org/a.js"></script>',
            "loads https://cdn.example.org/a.js from another",
        ),
        (
            "#",
            '<link rel="stylesheet" href="//fonts.example.org/a.css">',
            "loads //fonts.example.org/a.css from another",
        ),
        ("#", '<pre class="mermaid"></pre>', "from another host"),
    ],
)
def test_a_broken_link_or_a_load_from_another_host_is_named(tmp_path, link, more, fault):
    (tmp_path / "index.html").write_text(PAGE.format(link, more))
    (tmp_path / "other.html").write_text(PAGE.format("index.html", '<a name="there"></a>'))
    found = check(tmp_path)
    assert found == [] if fault is None else len(found) == 1 and fault in found[0]


def test_a_style_that_loads_a_font_from_another_host_is_named(tmp_path):
    (tmp_path / "site.css").write_text("@font-face { src: url('https://fonts.example.org/a.woff2'); }")
    assert check(tmp_path) == ["site.css: loads from another host"]
