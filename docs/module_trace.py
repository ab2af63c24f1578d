"""The order in which a command enters our modules, and which module calls which.

python docs/module_trace.py ARG ...     runs `sciprism ARG ...`, then prints its files and returns as JSON
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Self

import sciprism

ROOT = f"{Path(sciprism.__file__).parent}/"


class ModuleTrace:
    """Notes each function of ours at its first call, in the main thread, but not while modules are imported."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, str], None] = {}
        self._importing = 0
        self.calls: dict[tuple[str, str], None] = {}
        self.modules: list[str] = []
        """The modules in the order in which they are entered; one that is left and entered again is there twice."""

    def __enter__(self) -> Self:
        sys.setprofile(self._on_event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _on_event(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if code.co_name == "<module>":
            self._importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not self._importing and not code.co_name.startswith("<"):
            module = _find_module(frame)
            if module is not None and (module, code.co_qualname) not in self._functions:
                self._functions[module, code.co_qualname] = None
                self._note(frame, module)

    def _note(self, frame: FrameType, module: str) -> None:
        """Append a module that is entered, and the module of ours that called it."""
        if self.modules[-1:] != [module]:
            self.modules.append(module)
        caller = frame.f_back
        while caller is not None and _find_module(caller) is None:
            caller = caller.f_back
        self.calls[(caller and _find_module(caller)) or "", module] = None

    @property
    def files(self) -> int:
        """How many modules have a function that ran."""
        return len(set(self.modules))

    @property
    def returns(self) -> int:
        """How often a module is entered that was left before."""
        return len(self.modules) - self.files


def _find_module(frame: FrameType) -> str | None:
    """Return the module of a frame without our package's name; None for a frame of other packages."""
    path = frame.f_code.co_filename
    return path.removeprefix(ROOT).removesuffix(".py").replace("/", ".") if path.startswith(ROOT) else None


if __name__ == "__main__":
    from sciprism.cli.main import main

    sys.argv[0] = "sciprism"
    status: object = 0
    with ModuleTrace() as trace:
        try:
            main()
        except SystemExit as stop:
            status = stop.code or 0
    counts = {"files": trace.files, "returns": trace.returns, "modules": trace.modules, "status": status}
    print(json.dumps(counts), file=sys.stderr)
