"""The order in which a run enters our modules, as someone reads who follows the calls from top to bottom."""

import sys
from pathlib import Path

import sciprism

ROOT = f"{Path(sciprism.__file__).parent}/"
OPTIMIZED = 1  # a function's code has this flag, a module's and a class body's have not


class ModuleTrace:
    """Notes each top-level function or class of some packages when it is first used; the main thread's only.

    A class is read as a whole where its first method runs. What runs while modules are imported counts too, so
    import them before.
    """

    def __init__(self, *packages):
        self.packages = packages
        self.used = {}

    def __enter__(self):
        sys.setprofile(self._on_event)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _on_event(self, frame, event, _):
        code = frame.f_code
        if event != "call" or not code.co_flags & OPTIMIZED:
            return
        name = code.co_qualname.partition(".")[0]
        if code.co_filename.startswith(ROOT) and not name.startswith("<"):
            module = code.co_filename.removeprefix(ROOT).removesuffix(".py").replace("/", ".")
            if module.partition(".")[0] in self.packages:
                self.used.setdefault((module, name))

    @property
    def modules(self):
        """The modules in the order in which they are entered; one that is left and entered again is there twice."""
        found = []
        for module, _ in self.used:
            if found[-1:] != [module]:
                found.append(module)
        return found

    @property
    def returns(self):
        """How often a module is entered that was left before."""
        return len(self.modules) - len(set(self.modules))
