"""A service in process."""

import time
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from sciprism.service.app import build_app
from sciprism.service.settings import ServeSettings
from sciprism.service.state import ServedCollections, ServiceState

TOKEN = "0123456789abcdef-of-ada"


def start(folders: list[Path], *, follow_redirects: bool = False, **settings) -> TestClient:
    state = ServiceState(ServeSettings(**settings), ServedCollections(folders))
    state.load()
    return TestClient(build_app(state), base_url="http://localhost:8000", follow_redirects=follow_redirects)


def wait_for_upload(client: TestClient, id: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    end = time.monotonic() + 60
    while True:
        upload = client.get(f"/workspace/collections/{id}", headers=headers).json()
        if upload["state"] not in ("waiting", "working"):
            return upload
        assert time.monotonic() < end
        time.sleep(0.01)
