"""Read files of `torch.save`, of which nothing is executed."""

from __future__ import annotations

import pickle
import re
import zipfile
from pathlib import Path
from threading import Lock
from typing import Any, Self

import numpy as np
import torch

from sciprism.errors import InputError
from sciprism.files import describe_wrong_path
from sciprism.text.tokenizer import check_regular


class StandIn:
    """An object that a file names and that is never constructed, such as a configuration node.

    args: those of the call that the file states. state: what the file would set on the object.
    """

    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: Any) -> Self:
        """Store what the file would pass to the class of this name."""
        stand_in = super().__new__(cls)
        stand_in.args, stand_in.state = args, None
        return stand_in

    def __setstate__(self, state: Any) -> None:
        self.state = state


class NumpyNumber(StandIn):
    """A numpy number, which becomes a plain one."""

    def __new__(cls, dtype: StandIn, data: bytes) -> Any:
        """Return the number. dtype: the stand-in of a `numpy.dtype`."""
        order = dtype.state[1] if dtype.state else "="
        return np.frombuffer(data, np.dtype(dtype.args[0]).newbyteorder(order), count=1)[0].item()


# What checkpoints of DPR, and so of SciMult, name besides tensors: the nodes of their configuration.
NODES = {
    "omegaconf.base": "ContainerMetadata Metadata",
    "omegaconf.dictconfig": "DictConfig",
    "omegaconf.listconfig": "ListConfig",
    "omegaconf.nodes": "AnyNode BooleanNode EnumNode FloatNode IntegerNode StringNode",
    "argparse": "Namespace",
    "builtins": "bool dict float int list str tuple",
    "collections": "defaultdict",
    "typing": "Any",
    "numpy": "dtype",
}
NUMBERS = {"numpy.core.multiarray": "scalar", "numpy._core.multiarray": "scalar"}  # numpy 1 and 2
STAND_INS: list[Any] = [
    type(name, (base,), {"__module__": module})
    for base, names in ((StandIn, NODES), (NumpyNumber, NUMBERS))
    for module, listed in names.items()
    for name in listed.split()
]
_LOCK = Lock()  # torch's list of safe names is global


def read_torch_file(path: Path) -> Any:
    """Return the object of a file of `torch.save`, in its present zip layout or the older one.

    Tensors are on the CPU, those of the zip layout mapped to the file, which must not change. InputError for a
    file that is damaged, or names anything but tensors, plain values and `STAND_INS`.
    """
    check_regular(path)
    try:
        zipped = zipfile.is_zipfile(path)
        if zipped:
            _check_records(path)
        with _LOCK, torch.serialization.safe_globals(STAND_INS):
            return torch.load(path, map_location="cpu", weights_only=True, mmap=zipped)
    except FileNotFoundError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except Exception as error:  # a damaged file can raise anything
        reason = describe_wrong_path(path, binary=True) or _describe_error(error)
        raise InputError(f"{path}: {reason}") from error


def _check_records(path: Path) -> None:
    """Compare a zip's records with their checksums, which torch does not where it maps them."""
    with zipfile.ZipFile(path) as archive:
        if any(name.endswith("/constants.pkl") for name in archive.namelist()):
            raise InputError("holds a TorchScript program, not a checkpoint: refused")
        if any(record.compress_type != zipfile.ZIP_STORED for record in archive.infolist()):
            raise InputError("its records are compressed, which torch never does")
        if damaged := archive.testzip():
            raise InputError(f"damaged: the checksum of {damaged} does not fit")


def _describe_error(error: Exception) -> str:
    if isinstance(error, pickle.UnpicklingError) and (named := re.search(r"GLOBAL (\S+)", str(error))):
        name = named[1] if "." in named[1] else f"builtins.{named[1]}"
        return (
            f"names {name}, which can run code: refused, and nothing was executed; if you trust the file, save its "
            "tensors as safetensors with the library that wrote it"
        )
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, pickle.UnpicklingError):
        return "damaged, or holds more than weights and is refused"
    return f"damaged or not a torch file: {str(error).partition(chr(10))[0]}"
