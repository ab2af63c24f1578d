"""The order in which a run enters our modules, and which package calls which."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any, Self

import sciprism

ROOT = f"{Path(sciprism.__file__).parent}/"
OPTIMIZED = 1
"""The code of functions has this flag; that of modules and class bodies has not."""


class ModuleTrace:
    """Notes each top-level function or class of some packages at its first call, in the main thread.

    A class is read as a whole where its first method runs. Functions that run while modules are imported are
    noted too, so import the modules before.
    """

    def __init__(self, *packages: str) -> None:
        self.packages = packages
        self._used: dict[tuple[str, str], None] = {}
        self.calls: dict[tuple[str, str], None] = {}

    def __enter__(self) -> Self:
        sys.setprofile(self._on_event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _on_event(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_flags & OPTIMIZED or not code.co_filename.startswith(ROOT):
            return
        module, name = self._module(frame), code.co_qualname.partition(".")[0]
        if module is None or name.startswith("<"):
            return
        if (module, name) not in self._used:
            self._used[module, name] = None
            caller = frame.f_back
            while caller is not None and self._module(caller) is None:
                caller = caller.f_back
            self.calls[self._module(caller) if caller else "", module] = None

    def _module(self, frame: FrameType) -> str | None:
        """Return the module of a frame without our package's name; None for one of other packages."""
        path = frame.f_code.co_filename
        if not path.startswith(ROOT):
            return None
        module = path.removeprefix(ROOT).removesuffix(".py").replace("/", ".")
        return module if module.partition(".")[0] in self.packages else None

    @property
    def modules(self) -> list[str]:
        """The modules in the order in which they are entered; one that is left and entered again is there twice."""
        found: list[str] = []
        for module, _ in self._used:
            if found[-1:] != [module]:
                found.append(module)
        return found

    @property
    def returns(self) -> int:
        """How often a module is entered that was left before."""
        return len(self.modules) - len(set(self.modules))
