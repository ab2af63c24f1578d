"""Pages: one folder of templates, one style sheet and the scripts of the service, of maps and of reports.

What a template names enters, a page leaves: of the service, which loads style and scripts from it, or a file that has
both inside and loads nothing.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

STATIC = Path(__file__).parent / "static"
environment = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
)
environment.filters["address"] = lambda text: quote(str(text), safe="")
environment.filters["thousands"] = "{:,}".format


def fill_page(template: str, **values: Any) -> bytes:
    """Return a page of the service, which loads style and scripts from it; root: the path below which it is served."""
    return environment.get_template(template).render({"root": ""} | values).encode("utf-8", "replace")


def fill_file(template: str, script: str, **values: Any) -> bytes:
    """Return a page that needs no other file; its policy lets a browser load nothing and run this script alone."""
    inside = {"style": "style.css", "script": script}
    texts = {name: Markup((STATIC / file).read_text(encoding="utf-8")) for name, file in inside.items()}
    allowed = {name: b64encode(sha256(text.encode()).digest()).decode() for name, text in texts.items()}
    policy = "; ".join(f"{name}-src 'sha256-{digest}'" for name, digest in allowed.items())
    return fill_page(template, policy=policy, **texts, **values)
