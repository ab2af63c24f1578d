"""Build the site of mkdocs.yml, without the network, and refuse a broken one: `make docs`.

Zensical builds the pages. Three things are done to them here:

- Equations become MathML, which browsers show without a script.
- Links to files of the repository outside docs/ lead to copies of these files in the site (`repository/`): Markdown and
  code as pages, data as they are.
- Every link, anchor and picture of every page is looked up; what would be loaded from another host is an error.
"""

from __future__ import annotations

import html
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from latex2mathml.converter import convert
from markdown import Markdown

ROOT = Path(__file__).parent.parent
SITE = ROOT / "out" / "site"
COPIES = "repository"
"""Folder of the site with the files of the repository that pages link to."""
LARGEST = 300_000
"""Bytes of the largest file that a page of a folder links to."""
CODE = {".py": "python", ".toml": "toml", ".sh": "bash", ".yaml": "yaml", ".yml": "yaml", ".txt": "text", "": "text"}
MATH = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
ADDRESS = re.compile(r'\b(href|src)="([^"]*)"')


def build() -> None:
    """Build the site into out/site."""
    command = [str(Path(sys.executable).parent / "zensical"), "build", "--clean", "--strict"]
    shutil.rmtree(SITE, ignore_errors=True)
    subprocess.run(command, cwd=ROOT, check=True)
    copies = Copies(SITE)
    for page in sorted(SITE.rglob("*.html")):
        text = MATH.sub(_write_math, page.read_text(encoding="utf-8"))
        page.write_text(copies.rewrite(text, page.relative_to(SITE).as_posix()), encoding="utf-8")
    copies.write()


def _write_math(match: re.Match[str]) -> str:
    display = "block" if match[1] == "div" else "inline"
    return convert(html.unescape(match[2]).strip(), display=display)


@dataclass
class Copies:
    """The files of the repository that pages of a site link to."""

    site: Path
    found: dict[str, str] = field(default_factory=dict)
    """Path in the repository -> path in the site."""

    def rewrite(self, text: str, page: str) -> str:
        """Return a page whose links to files outside docs/ lead to their copies. page: its path in the site."""

        def replace(match: re.Match[str]) -> str:
            path, mark, anchor = match[2].partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(path)))
            if ":" in path or not path or not target.startswith(".."):
                return match[0]
            copy = self.add(target.lstrip("./"))
            return match[0] if copy is None else f'{match[1]}="{make_relative(copy, page)}{mark}{anchor}"'

        return ADDRESS.sub(replace, text)

    def add(self, name: str) -> str | None:
        """Return the path of a file's copy in the site; None if there is no such file. The suffix .md may lack."""
        for path in (name, f"{name}.md", posixpath.join(name, "README.md")):
            source = ROOT / path
            if source.is_file() or (source.is_dir() and not (source / "README.md").exists()):
                raw = source.is_file() and source.suffix != ".md" and source.suffix not in CODE
                return self.found.setdefault(path, f"{COPIES}/{path}" if raw else f"{COPIES}/{path}.html")
        return None

    def write(self) -> None:
        """Write all copies, those too that copies link to."""
        shell = (self.site / "404.html").read_text(encoding="utf-8")
        written: set[str] = set()
        while pending := [path for path in self.found if path not in written]:
            for path in pending:
                written.add(path)
                target = self.site / self.found[path]
                target.parent.mkdir(parents=True, exist_ok=True)
                if target.suffix == ".html":
                    target.write_text(self._build_page(path, shell), encoding="utf-8")
                else:
                    shutil.copy(ROOT / path, target)

    def _build_page(self, path: str, shell: str) -> str:
        """Return the page of a Markdown file, of code or of a folder, in the frame of the site."""
        body, place = render_file(ROOT / path), self.found[path]

        def replace(match: re.Match[str]) -> str:
            address, mark, anchor = match[2].partition("#")
            folder = path if (ROOT / path).is_dir() else posixpath.dirname(path)
            target = posixpath.normpath(posixpath.join(folder, unquote(address)))
            copy = self.find_page(target) or self.add(target)
            if ":" in address or not address or copy is None:
                return match[0]
            return f'{match[1]}="{make_relative(copy, place)}{mark}{anchor}"'

        up = "../" * place.count("/")
        frame = re.sub(r'\b(href|src|content)="/(?!/)', rf'\1="{up}', shell).replace('new URL("/"', f'new URL("{up}"')
        frame = re.sub(r'"base":"/"', f'"base":"{up.rstrip("/")}"', frame).replace('"search":"/', f'"search":"{up}')
        title = f"<title>{html.escape(path)} - sciprism</title>"
        frame = re.sub(r"<title>.*?</title>", lambda _: title, frame, flags=re.DOTALL)
        body = ADDRESS.sub(replace, body)
        return re.sub(r"<h1>404 - Not found</h1>", lambda _: body, frame)

    def find_page(self, path: str) -> str | None:
        """Return where the site has a file of docs/; None for other files."""
        inner = path.removeprefix("docs/")
        if inner == path:
            return None
        page = re.sub(r"(^|/)index/index\.html$", r"\1index.html", f"{inner.removesuffix('.md')}/index.html")
        return next((each for each in (page, inner) if (self.site / each).is_file()), None)


def make_relative(target: str, page: str) -> str:
    """Return the address of a path of the site, seen from a page."""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def render_file(source: Path) -> str:
    """Return a Markdown file, code or the list of a folder as HTML."""
    name = source.relative_to(ROOT).as_posix()
    if source.is_dir():
        text = f"# {name}\n\n" + "\n".join(_list_folder(source))
    else:
        text = re.sub(r"\A---\n.*?\n---\n", "", source.read_text(encoding="utf-8"), flags=re.DOTALL)
        if source.suffix != ".md":
            fence = "~" * 12
            text = f"# {name}\n\n{fence}{{.{CODE[source.suffix]} linenums=1}}\n{text}\n{fence}\n"
    extensions = ["tables", "toc", "attr_list", "md_in_html", "pymdownx.superfences", "pymdownx.highlight"]
    return Markdown(extensions=extensions).convert(text)


def _list_folder(folder: Path) -> Iterator[str]:
    """Yield a line for each file: a link, or the name and size of a large one."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            name, size = path.relative_to(folder).as_posix(), path.stat().st_size
            yield f"- [{name}]({name})" if size <= LARGEST else f"- {name} ({size / 1e6:.1f} MB)"


@dataclass
class _Page(HTMLParser):
    """The anchors, links and loaded files of a page."""

    text: str
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") != "canonical" and "href" in values:
            self.loaded.append(values["href"])
        if "src" in values:
            self.loaded.append(values["src"])
        if "mermaid" in values.get("class", "").split():
            self.loaded.append("https://unpkg.com/mermaid")  # where the theme's script has it from


def check(site: Path) -> list[str]:
    """Return what is wrong with the links, anchors and loaded files of a built site, each with its page."""
    pages = {path.relative_to(site).as_posix(): path for path in sorted(site.rglob("*.html"))}
    parsed = {name: _Page(path.read_text(encoding="utf-8")) for name, path in pages.items()}
    faults = []
    for name, page in parsed.items():
        for address in page.loaded:
            if re.match(r"(https?:)?//", address):
                faults.append(f"{name}: loads {address} from another host")
        for address in [*page.links, *page.loaded]:
            if not re.match(r"(https?:)?//|mailto:|data:", address):
                fault = _check_address(address, name, parsed, site)
                faults += [f"{name}: {address}: {fault}"] if fault else []
    for style in sorted(site.rglob("*.css")):
        if re.search(r"url\(\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")):
            faults.append(f"{style.relative_to(site)}: loads from another host")
    return faults


def _check_address(address: str, name: str, parsed: dict[str, _Page], site: Path) -> str:
    """Return what is wrong with an address of a page, or an empty text."""
    path, _, anchor = address.partition("#")
    path = unquote(path.partition("?")[0])
    target = name if not path else posixpath.normpath(posixpath.join(posixpath.dirname(name), path)).lstrip("/")
    if path and (site / target).is_dir():
        target = posixpath.normpath(posixpath.join(target, "index.html"))
    if target.startswith("..") or not (site / target).is_file():
        return "no such page or file"
    if anchor and target in parsed and unquote(anchor) not in parsed[target].anchors:
        return "no such anchor"
    return ""


if __name__ == "__main__":
    build()
    problems = check(SITE)
    if problems:
        sys.exit("\n".join([*problems, f"{len(problems)} broken links"]))
    print("all links exist, nothing is loaded from other hosts; see it: python -m http.server -d out/site")
