"""Read pickles as data: nothing that they name is imported or called.

A pickle is a program for a small stack machine; Python's unpickler calls whatever the program names. This one
constructs only tensors, plain containers and numpy numbers; every other name becomes a `Placeholder`, with
the arguments and the state that the file gives it. No file can run code here. The list of refused names tells
the user that a file is an attack, or not a checkpoint.
"""

from __future__ import annotations

import builtins
import mmap
import pickletools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

import numpy as np
from torch import Tensor

from sciprism.errors import InputError


@dataclass(eq=False, slots=True)
class Placeholder:
    """An object that a file names and this machine does not construct: an optimizer, an enum.

    name: module and name. args: those of the call; None for the bare name. state: what the file would set on
    it. items, entries: values that were added as to a list, a dict.
    """

    name: str
    args: tuple[Any, ...] | None = field(default=None, repr=False)
    state: Any = field(default=None, repr=False)
    items: list[Any] = field(default_factory=list, repr=False)
    entries: dict[Any, Any] = field(default_factory=dict, repr=False)


# Modules that a checkpoint has no reason to name; of `builtins` all but types of plain values.
MODULES = """
_io _pickle _posixsubprocess _thread asyncio bdb code codeop commands concurrent ctypes dill doctest gc imp
importlib inspect io marshal mmap multiprocessing nt os pdb pickle pip pkgutil platform popen2 posix posixpath
profile pty pydoc runpy shutil signal site socket subprocess sys tempfile threading timeit trace types urllib
webbrowser zipimport
"""
TYPES = """
bool bytearray bytes complex dict float frozenset int list object range set slice str tuple type Ellipsis
NotImplemented
"""
REFUSED_MODULES = frozenset(MODULES.split())
HARMLESS_BUILTINS = frozenset(TYPES.split()).union(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)
)
# the names of Python 2, in protocols below 3
OLD_MODULES = {"__builtin__": "builtins", "copy_reg": "copyreg", "exceptions": "builtins"}
OLD_NAMES = {"long": "int", "unicode": "str", "basestring": "str", "xrange": "range"}


class PickleMachine:
    """A stack machine that runs one pickle; `load` returns the storage of a persistent id."""

    def __init__(self, load: Callable[[Any], Any] | None = None) -> None:
        self.load = load
        self.stack: list[Any] = []
        self.outer_stacks: list[list[Any]] = []  # those below each open mark
        self.memo: dict[int, Any] = {}

    def run(self, file: BinaryIO | mmap.mmap) -> Any:
        """Return the pickle's object; the file's position is then after the pickle."""
        for operation, argument, _ in pickletools.genops(cast(Any, file)):
            if operation.name in PUSHED:
                self.stack.append(argument)
            elif operation.name in WITH_ARGUMENT:
                WITH_ARGUMENT[operation.name](self, argument)
            elif operation.name in OPERATIONS:
                OPERATIONS[operation.name](self)
            else:
                raise InputError(f"the operation {operation.name} is not read here")
        return self.stack.pop()

    def push(self, value: Any) -> None:
        """Put a value on the stack."""
        self.stack.append(value)

    def pop(self) -> Any:
        """Remove and return the topmost value."""
        return self.stack.pop()

    def mark(self) -> None:
        """Begin a group of values."""
        self.outer_stacks.append(self.stack)
        self.stack = []

    def group(self) -> list[Any]:
        """End the open group and return its values."""
        values, self.stack = self.stack, self.outer_stacks.pop()
        return values

    def last(self, count: int) -> list[Any]:
        """Remove and return the last `count` values, in the order they were pushed."""
        if len(self.stack) < count:
            raise ValueError("the stack is empty")
        values = self.stack[-count:]
        del self.stack[-count:]
        return values

    def remember(self, number: int) -> None:
        """Store the topmost value under a number."""
        self.memo[number] = self.stack[-1]

    def name(self, module: str, name: str) -> None:
        """Push a bare name; one that can run code is an InputError."""
        if module in OLD_MODULES:
            module, name = OLD_MODULES[module], OLD_NAMES.get(name, name)
        known = module != "builtins" or name in HARMLESS_BUILTINS
        if not known or module.split(".")[0] in REFUSED_MODULES:
            raise InputError(f"names {module}.{name}, which can run code: refused, and nothing was executed")
        self.push(Placeholder(f"{module}.{name}"))

    def call(self, callee: Any, args: Any) -> None:
        """Push the result of a call: a value for the few known names, else a placeholder."""
        if not isinstance(callee, Placeholder) or not isinstance(args, tuple):
            raise ValueError(f"calls {type(callee).__name__} with {type(args).__name__}")
        if callee.args is None and callee.name in CONSTRUCTORS:
            self.push(CONSTRUCTORS[callee.name](*args))
        else:
            self.push(Placeholder(callee.name, args))

    def extend(self, values: list[Any]) -> None:
        """Add values to the list or set on top."""
        target = self.stack[-1]
        if isinstance(target, Placeholder):
            target.items.extend(values)
        elif isinstance(target, set):
            target.update(values)
        else:
            cast(list[Any], target).extend(values)

    def enter(self, pairs: list[Any]) -> None:
        """Add alternating keys and values to the dict on top."""
        target = self.stack[-1]
        entries = target.entries if isinstance(target, Placeholder) else target
        entries.update(zip(pairs[::2], pairs[1::2], strict=True))

    def build(self, state: Any) -> None:
        """Store the state of a placeholder; values such as ordered dicts need none."""
        target = self.stack[-1]
        if isinstance(target, Placeholder):
            target.state = state
        elif isinstance(target, np.dtype) and state[1] == ">":
            raise InputError("holds big-endian numbers, which are not read here")

    def persistent(self, number: Any) -> None:
        """Push the storage of a persistent id."""
        if self.load is None:
            raise ValueError("a storage outside of the data")
        self.push(self.load(number))


def _pairs(values: list[Any]) -> dict[Any, Any]:
    return dict(zip(values[::2], values[1::2], strict=True))


# operations whose argument is the value itself
LITERALS = """
INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE
SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8
"""
PUSHED = frozenset(LITERALS.split())
WITH_ARGUMENT: dict[str, Callable[[PickleMachine, Any], None]] = {
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), PickleMachine.remember),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), lambda m, number: m.push(m.memo[number])),
    "GLOBAL": lambda m, names: m.name(*names.split(" ", 1)),
    "INST": lambda m, names: _instance(m, *names.split(" ", 1)),
}
OPERATIONS: dict[str, Callable[[PickleMachine], Any]] = {
    "PROTO": lambda _: None,
    "FRAME": lambda _: None,
    "STOP": lambda _: None,
    "NONE": lambda m: m.push(None),
    "NEWTRUE": lambda m: m.push(True),
    "NEWFALSE": lambda m: m.push(False),
    "EMPTY_LIST": lambda m: m.push([]),
    "EMPTY_DICT": lambda m: m.push({}),
    "EMPTY_SET": lambda m: m.push(set()),
    "EMPTY_TUPLE": lambda m: m.push(()),
    "MARK": lambda m: m.mark(),
    "POP": lambda m: m.pop() if m.stack else m.group(),
    "POP_MARK": lambda m: m.group(),
    "DUP": lambda m: m.push(m.stack[-1]),
    "MEMOIZE": lambda m: m.remember(len(m.memo)),
    "LIST": lambda m: m.push(m.group()),
    "TUPLE": lambda m: m.push(tuple(m.group())),
    "FROZENSET": lambda m: m.push(frozenset(m.group())),
    "DICT": lambda m: m.push(_pairs(m.group())),
    "TUPLE1": lambda m: m.push(tuple(m.last(1))),
    "TUPLE2": lambda m: m.push(tuple(m.last(2))),
    "TUPLE3": lambda m: m.push(tuple(m.last(3))),
    "APPEND": lambda m: m.extend(m.last(1)),
    "APPENDS": lambda m: m.extend(m.group()),
    "ADDITEMS": lambda m: m.extend(m.group()),
    "SETITEM": lambda m: m.enter(m.last(2)),
    "SETITEMS": lambda m: m.enter(m.group()),
    "STACK_GLOBAL": lambda m: m.name(*m.last(2)),
    "REDUCE": lambda m: m.call(*m.last(2)),
    "NEWOBJ": lambda m: m.call(*m.last(2)),
    "NEWOBJ_EX": lambda m: _new_with_keywords(m, *m.last(3)),
    "OBJ": lambda m: _object(m, *m.group()),
    "BUILD": lambda m: m.build(m.pop()),
    "BINPERSID": lambda m: m.persistent(m.pop()),
}


def _new_with_keywords(machine: PickleMachine, callee: Any, args: Any, keywords: Any) -> None:
    machine.call(callee, (*args, keywords) if keywords else args)


def _instance(machine: PickleMachine, module: str, name: str) -> None:
    args = tuple(machine.group())
    machine.name(module, name)
    machine.call(machine.pop(), args)


def _object(machine: PickleMachine, callee: Any, *args: Any) -> None:
    machine.call(callee, args)


def _tensor(storage: Tensor, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Tensor:
    """Return a view of a flat storage; torch checks its bounds."""
    return storage.as_strided(size, stride, storage.storage_offset() + offset)


def _first(value: Tensor, *_: Any) -> Tensor:
    return value


def _dtype(kind: str, *rest: Any) -> Any:
    plain = isinstance(kind, str) and re.fullmatch(r"[biufc](1|2|4|8|16)|[SU]\d{1,4}", kind)
    return np.dtype(kind) if plain else Placeholder("numpy.dtype", (kind, *rest))


def _number(dtype: Any, data: bytes | str) -> Any:
    """Return a numpy scalar as a plain value."""
    if not isinstance(dtype, np.dtype):
        return Placeholder("numpy.scalar", (dtype, data))
    raw = data.encode("latin-1") if isinstance(data, str) else data  # a str in files of Python 2
    return np.frombuffer(raw, dtype, count=1)[0].item()


def _bytes(text: str, encoding: str = "latin1") -> bytes:
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"bytes in the encoding {encoding}")
    return text.encode("latin-1")


def _copied(value: bytes = b"") -> bytes:
    if not isinstance(value, bytes):  # bytes(n) would allocate n bytes
        raise ValueError(f"bytes of a {type(value).__name__}")
    return value


CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _first,
    "torch._utils._rebuild_parameter_with_state": _first,
    "torch.nn.parameter.Parameter": _first,
    "torch.Size": lambda sizes=(): tuple(sizes),
    "collections.OrderedDict": lambda pairs=(): dict(pairs),
    "collections.defaultdict": lambda _=None, pairs=(): dict(pairs),
    "builtins.dict": lambda pairs=(): dict(pairs),
    "builtins.list": lambda values=(): list(values),
    "builtins.tuple": lambda values=(): tuple(values),
    "builtins.set": lambda values=(): set(values),
    "builtins.frozenset": lambda values=(): frozenset(values),
    "builtins.bytes": _copied,
    "builtins.bytearray": lambda value=b"": bytearray(_copied(value)),
    "builtins.complex": complex,
    "_codecs.encode": _bytes,
    "numpy.dtype": _dtype,
    "numpy.core.multiarray.scalar": _number,
    "numpy._core.multiarray.scalar": _number,
}
