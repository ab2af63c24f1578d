"""Read both layouts of `torch.save` as data, whatever else the file holds besides tensors."""

from __future__ import annotations

import io
import mmap
import zipfile
import zlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sciprism.encoders.checkpoints.restricted import Machine, Placeholder
from sciprism.errors import InputError

STORAGES = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}


def read_torch_file(path: Path) -> Any:
    """Return what `torch.save` put into the file, as data; its zip layout and the one before that.

    Tensors lie on the CPU and may share memory with each other and with the file, which is not to be
    changed meanwhile. A file that names what can run code, or that is damaged, is an InputError.
    """
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        return _read_zip(path, mapped) if mapped[:4] == b"PK\x03\x04" else _read_legacy(mapped)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except Exception as error:  # a damaged file makes any operation fail in any way
        raise InputError(f"{path}: damaged or not a torch file: {error}") from error


def _storage_dtype(kind: Any) -> torch.dtype:
    name = kind.name.rpartition(".")[2] if isinstance(kind, Placeholder) else type(kind).__name__
    if name not in STORAGES:
        raise InputError(f"holds a storage of the kind {name}; known: {', '.join(STORAGES)}")
    return STORAGES[name]


def _read_zip(path: Path, mapped: mmap.mmap) -> Any:
    """Read a zip of `data.pkl` and one uncompressed record for each storage."""
    with zipfile.ZipFile(path) as archive:
        records = {info.filename.partition("/")[2]: info for info in archive.infolist()}
        if "constants.pkl" in records:
            raise InputError("holds a TorchScript program, not a checkpoint: refused")
        if any(info.compress_type != zipfile.ZIP_STORED for info in records.values()):
            raise InputError("its records are compressed, which torch never does")
        if "data.pkl" not in records:
            raise InputError("a zip without data.pkl: not a file of torch.save")
        program = archive.read(records["data.pkl"])
        if "byteorder" in records and archive.read(records["byteorder"]) != b"little":
            raise InputError("holds big-endian numbers, which are not read here")
    storages: dict[str, Tensor] = {}

    def load(number: Any) -> Tensor:
        _, kind, key, _, count = number
        if key not in storages:
            storages[key] = _record(mapped, records[f"data/{key}"])
        return storages[key].view(_storage_dtype(kind))[:count]

    return Machine(load).run(io.BytesIO(program))


def _record(mapped: mmap.mmap, info: zipfile.ZipInfo) -> Tensor:
    """Return a record's bytes as a tensor over the mapped file, checked against their checksum."""
    header = mapped[info.header_offset : info.header_offset + 30]
    names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    start = info.header_offset + 30 + names
    if zlib.crc32(memoryview(mapped)[start : start + info.file_size]) != info.CRC:
        raise InputError(f"damaged: the checksum of {info.filename} does not fit")
    return _flat(mapped, torch.uint8, info.file_size, start)


def _flat(mapped: mmap.mmap, dtype: torch.dtype, count: int, start: int) -> Tensor:
    if count == 0:
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(mapped, dtype=dtype, count=count, offset=start)


MAGIC = 0x1950A86A20F9469CFC6C  # what the first pickle of the older layout holds


def _read_legacy(mapped: mmap.mmap) -> Any:
    """Read pickles one after the other and the storages behind them, in the order that the last one says."""
    if Machine().run(mapped) != MAGIC:
        raise InputError("not a file of torch.save")
    Machine().run(mapped)  # the layout's version: there has been one
    if not Machine().run(mapped).get("little_endian", True):
        raise InputError("holds big-endian numbers, which are not read here")
    storages: dict[str, Tensor] = {}
    room = len(mapped)

    def load(number: Any) -> Tensor:
        nonlocal room
        _, kind, key, _, count, view = number
        dtype = _storage_dtype(kind)
        if key not in storages:
            room -= count * dtype.itemsize
            if room < 0:
                raise InputError("damaged: it is shorter than its tensors")
            storages[key] = torch.empty(count, dtype=dtype)
        return storages[key] if view is None else storages[key][view[1] : view[1] + view[2]]

    result = Machine(load).run(mapped)
    for key in Machine().run(mapped):
        count = int.from_bytes(mapped.read(8), "little")
        if count != len(storages[key]):
            raise InputError(f"damaged: the storage {key} has {count} numbers, expected {len(storages[key])}")
        storages[key].copy_(_flat(mapped, storages[key].dtype, count, mapped.tell()))
        mapped.seek(storages[key].nbytes, io.SEEK_CUR)
    return result
