"""Read both layouts of `torch.save` as data, without executing what a file names."""

from __future__ import annotations

import io
import mmap
import zipfile
import zlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sciprism.encoders.checkpoints.restricted_unpickler import PickleMachine, Placeholder
from sciprism.errors import InputError
from sciprism.files import describe_wrong_path

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
    """Return the object of a file of `torch.save`, as data, from the zip layout or the legacy one.

    Tensors are on the CPU and may share memory with each other and with the file, which must not change. A
    file that names code, or is damaged, is an InputError.
    """
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        return _read_zip(path, mapped) if mapped[:4] == b"PK\x03\x04" else _read_legacy(mapped)
    except InputError as error:
        raise InputError(f"{path}: {describe_wrong_path(path, binary=True) or error}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except Exception as error:  # a damaged file can raise anything
        reason = describe_wrong_path(path, binary=True) or f"damaged or not a torch file: {error}"
        raise InputError(f"{path}: {reason}") from error


def _storage_dtype(kind: Any) -> torch.dtype:
    name = kind.name.rpartition(".")[2] if isinstance(kind, Placeholder) else type(kind).__name__
    if name not in STORAGES:
        raise InputError(f"holds a storage of the kind {name}; known: {', '.join(STORAGES)}")
    return STORAGES[name]


def _read_zip(path: Path, mapped: mmap.mmap) -> Any:
    """Read a zip of `data.pkl` and one uncompressed record per storage."""
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
            storages[key] = _read_record(mapped, records[f"data/{key}"])
        return storages[key].view(_storage_dtype(kind))[:count]

    return PickleMachine(load).run(io.BytesIO(program))


def _read_record(mapped: mmap.mmap, info: zipfile.ZipInfo) -> Tensor:
    """Return a record's bytes as a tensor over the mapped file; check their checksum."""
    header = mapped[info.header_offset : info.header_offset + 30]
    names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    start = info.header_offset + 30 + names
    if zlib.crc32(memoryview(mapped)[start : start + info.file_size]) != info.CRC:
        raise InputError(f"damaged: the checksum of {info.filename} does not fit")
    return _flat_tensor(mapped, torch.uint8, info.file_size, start)


def _flat_tensor(mapped: mmap.mmap, dtype: torch.dtype, count: int, start: int) -> Tensor:
    if count == 0:
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(mapped, dtype=dtype, count=count, offset=start)


MAGIC = 0x1950A86A20F9469CFC6C  # the first pickle of the legacy layout


def _read_legacy(mapped: mmap.mmap) -> Any:
    """Read consecutive pickles and the storages after them, in the order that the last pickle states."""
    if PickleMachine().run(mapped) != MAGIC:
        raise InputError("not a file of torch.save")
    PickleMachine().run(mapped)  # the version: there is only one
    if not PickleMachine().run(mapped).get("little_endian", True):
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

    result = PickleMachine(load).run(mapped)
    for key in PickleMachine().run(mapped):
        count = int.from_bytes(mapped.read(8), "little")
        if count != len(storages[key]):
            raise InputError(f"damaged: the storage {key} has {count} numbers, expected {len(storages[key])}")
        storages[key].copy_(_flat_tensor(mapped, storages[key].dtype, count, mapped.tell()))
        mapped.seek(storages[key].nbytes, io.SEEK_CUR)
    return result
