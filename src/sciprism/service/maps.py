"""Maps of collections: drawn in the background when somebody first looks, then stored until the collection changes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from sciprism.errors import InputError
from sciprism.pages import STATIC
from sciprism.service.library_pages import Library
from sciprism.service.pages import render
from sciprism.store import StoredCollection
from sciprism.store.manifest import MANIFEST_NAME
from sciprism.uses.mapping import PAGE_PAPERS, draw_map, read_layout, write_page, write_parquet

router = APIRouter(include_in_schema=False)
LAYOUT = "layout.parquet"


class Maps:
    """The maps of a service, below a folder; without one, below a temporary folder. One is drawn at a time."""

    def __init__(self, folder: Path | None) -> None:
        self._temporary = None if folder else TemporaryDirectory(prefix="sciprism-maps-")
        self.folder = folder or Path(self._temporary.name if self._temporary else "")
        self.progress: dict[Path, str] = {}
        self._failures: dict[Path, str] = {}
        self._drawing = Lock()

    def find(self, folder: Path, stored: StoredCollection, title: str, address: str) -> Path | str:
        """Return the page of a map, or how far its drawing is. Raises InputError where it cannot be drawn."""
        parts = (stored.folder / MANIFEST_NAME, STATIC / "map.js", STATIC / "style.css")  # a former release had others
        page = folder / f"{hashlib.sha256(b''.join(part.read_bytes() for part in parts)).hexdigest()[:16]}.html"
        if page.is_file():
            return page
        if page in self._failures:
            raise InputError(self._failures[page])
        if len(stored) > PAGE_PAPERS:
            raise InputError(f"more than {PAGE_PAPERS:,} papers are mapped with `sciprism map`")
        if page not in self.progress:
            self.progress[page] = "waiting"
            Thread(target=self._draw, args=(stored, page, title, address), daemon=True).start()
        return self.progress.get(page, "")

    def _draw(self, stored: StoredCollection, page: Path, title: str, address: str) -> None:
        def show(stage: str, unit: str = "", done: int = 0, total: int | None = None, /) -> None:
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
            self._failures[page] = str(error)
        except Exception as error:  # noqa: BLE001 (the page says so)
            self._failures[page] = f"the map could not be drawn ({type(error).__name__})"
        finally:
            self.progress.pop(page, None)


@router.get("/library/{name}/map")
def map_page(request: Request, library: Library, name: str) -> Response:
    """Show the map of a collection, or how far its drawing is; that of an upload lies in it, and ends with it."""
    maps, stored, path = request.app.state.maps, library["stored"], quote(name, safe="")
    folder = maps.folder / path if name in request.app.state.service.collections else stored.folder.with_name("map")
    found = maps.find(folder, stored, library["library"], f"{request.scope['root_path']}/library/{path}")
    if isinstance(found, Path):
        return FileResponse(found, media_type="text/html")
    return render(request, "map_wait.html", 202, **library, progress=found)
