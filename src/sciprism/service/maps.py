"""Maps of collections: drawn in the background when somebody first looks, then stored until the collection changes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Literal
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from sciprism.errors import InputError
from sciprism.service.library_pages import describe_library
from sciprism.service.pages import render
from sciprism.store import StoredCollection
from sciprism.store.manifest import MANIFEST_NAME
from sciprism.uses.mapping import draw_map, read_layout, write_page, write_parquet
from sciprism.uses.mapping.page import PAGE_PAPERS

router = APIRouter(include_in_schema=False)
LAYOUT = "layout.parquet"


@dataclass(slots=True)
class Maps:
    """The maps of a service, below a folder; without one, below a temporary folder. One is drawn at a time."""

    folder: Path | None
    progress: dict[Path, str] = field(default_factory=dict)
    failures: dict[Path, str] = field(default_factory=dict)
    _temporary: TemporaryDirectory[str] | None = None
    _drawing: Lock = field(default_factory=Lock)

    def find(self, stored: StoredCollection, name: str, title: str) -> Path | None:
        """Return the page of a map, None while it is drawn. Raises InputError where it cannot be drawn."""
        if self.folder is None:
            self._temporary = TemporaryDirectory(prefix="sciprism-maps-")
            self.folder = Path(self._temporary.name)
        state = hashlib.sha256((stored.folder / MANIFEST_NAME).read_bytes()).hexdigest()[:16]
        page = self.folder / quote(name, safe="") / f"{state}.html"
        if page.is_file():
            return page
        if page in self.failures:
            raise InputError(self.failures[page])
        if len(stored) > PAGE_PAPERS:
            raise InputError(f"more than {PAGE_PAPERS:,} papers are mapped with `sciprism map`")
        if page not in self.progress:
            self.progress[page] = "waiting"
            Thread(
                target=self._draw, args=(stored, page, title, f"/library/{quote(name, safe='')}"), daemon=True
            ).start()
        return None

    def _draw(self, stored: StoredCollection, page: Path, title: str, address: str) -> None:
        def show(stage: str, unit: str, done: int, total: int | None) -> None:
            self.progress[page] = f"{stage}: {done:,} of {total:,} {unit}" if total else stage

        try:
            with self._drawing:
                if page.is_file():
                    return
                page.parent.mkdir(parents=True, exist_ok=True)
                layout = page.with_name(LAYOUT)
                try:
                    drawn = draw_map(stored, former=read_layout(layout), progress=show) if layout.exists() else None
                except InputError:  # of another model, or of other papers
                    drawn = None
                drawn = drawn or draw_map(stored, progress=show)
                former = [*page.parent.glob("*.html")]
                write_parquet(drawn, stored, layout)
                write_page(drawn, stored, page, title=title, address=address)
                for path in former:
                    path.unlink()
        except InputError as error:
            self.failures[page] = str(error)
        except Exception as error:  # noqa: BLE001 (the page says so)
            self.failures[page] = f"the map could not be drawn ({type(error).__name__})"
        finally:
            self.progress.pop(page, None)


@router.get("/library/{name}/map")
async def map_page(request: Request, name: str) -> Response:
    """Show the map of a collection, or how far its drawing is."""
    library, maps = describe_library(request, name), request.app.state.maps
    page = await request.app.state.service.run(maps.find, library["stored"], name, library["library"])
    if page is not None:
        return FileResponse(page, media_type="text/html")
    progress = ", ".join(text for path, text in maps.progress.items() if path.parent.name == quote(name, safe=""))
    return render(request, "map_wait.html", 202, **library, progress=progress)


@router.get("/static/map.{suffix}")
async def map_part(suffix: Literal["css", "js"]) -> Response:
    """Return the style or the script of maps."""
    return FileResponse(str(files("sciprism.uses.mapping") / f"page.{suffix}"))
