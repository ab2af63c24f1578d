"""Files of torch.save are read as data: the values that were saved, and nothing of them is ever run."""

import argparse
import functools
import os
import pickle
import subprocess
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from sciprism.encoders.checkpoints.torch_files import read_torch_file
from sciprism.errors import InputError

LAYOUTS = {"zip": True, "old": False}
REFUSAL = "which can run code: refused, and nothing was executed"


def saved(value, path, layout="zip", **options):
    torch.save(value, path, _use_new_zipfile_serialization=LAYOUTS[layout], **options)
    return path


# ---- what is read ----


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tensors_of_every_kind_plain_values_and_numpy_numbers(layout, tmp_path):
    base = torch.arange(24.0).reshape(2, 3, 4)
    kinds = (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8)
    value = {
        "kinds": [torch.tensor([1, 0, 3]).to(kind) for kind in (*kinds, torch.uint8, torch.bool)],
        "base": base,
        "turned": base.transpose(0, 2),
        "part": base[1, 1:, ::2],
        "row": base[0, 0],
        "number": torch.tensor(7.5),
        "empty": torch.empty(0, 3),
        "parameter": nn.Parameter(torch.ones(2)),
        "state": nn.Linear(2, 3).state_dict(),
    }
    plain = [None, True, -3, 2**70, 0.5, "words", b"bytes", (1, (2,)), {1, 2}]
    numbers = [np.int64(-3), np.float32(0.5), np.float64(1e300), np.bool_(True), np.str_("words")]
    numbers.append(np.dtype(">i4").type(7))
    found, others, became = read_torch_file(saved([value, plain, numbers], tmp_path / "file", layout))
    torch.testing.assert_close(found, value, rtol=0, atol=0)
    assert repr(others) == repr(plain) and became == [-3, 0.5, 1e300, True, "words", 7]
    for name in ("turned", "part", "row"):
        assert found[name].untyped_storage().data_ptr() == found["base"].untyped_storage().data_ptr()


# ---- attacks ----


class Attack:
    def __init__(self, make):
        self.make = make

    def __reduce__(self):
        return self.make()

    def __call__(self):
        """A pickle calls only what can be called."""


class Held:
    """A class that a file may name and that is not known here."""


def touch(marker):
    return f"open({str(marker)!r}, 'w').close()"


ATTACKS = {
    "posix.system": lambda m: (os.system, (f"touch {m}",)),
    "builtins.open": lambda m: (open, (str(m), "w")),
    "subprocess.Popen": lambda m: (subprocess.Popen, (["touch", str(m)],)),
    "posix.system in a partial": lambda m: (Attack(lambda: (functools.partial, (os.system, f"touch {m}"))), ()),
    "builtins.exec in a state": lambda m: (Held, (), {"x": Attack(lambda: (exec, (touch(m),)))}),
    "builtins.exec in a configuration": lambda m: (argparse.Namespace, (), {"x": Attack(lambda: (exec, (touch(m),)))}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", ATTACKS)
def test_attacks_are_refused_and_not_run(case, layout, tmp_path):
    marker = tmp_path / "marker"
    value = {"model": torch.ones(2), "config": [Attack(lambda: ATTACKS[case](marker))]}
    path = saved(value, tmp_path / "file", layout)
    with pytest.raises(InputError, match=REFUSAL) as caught:
        read_torch_file(path)
    assert str(path) in str(caught.value)
    assert not marker.exists()


# ---- files ----


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_program_of_torchscript_is_refused(tmp_path):
    torch.jit.save(torch.jit.script(nn.Linear(2, 2)), tmp_path / "file")
    with pytest.raises(InputError, match="TorchScript"):
        read_torch_file(tmp_path / "file")


def test_compressed_records_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "file", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"N.")
    with pytest.raises(InputError, match="compressed"):
        read_torch_file(tmp_path / "file")


def test_one_wrong_bit_in_a_tensor_is_seen(tmp_path):
    path = saved(torch.arange(100.0), tmp_path / "file")
    whole = bytearray(path.read_bytes())
    whole[whole.index(np.float32(57).tobytes())] ^= 1
    path.write_bytes(whole)
    with pytest.raises(InputError, match=r"the checksum of .*data/0 does not fit"):
        read_torch_file(path)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize(
    "content", [b"", b"hello", b"N.", b"PK\x03\x04", pickle.dumps({"a": 1}), b"version https://git-lfs"]
)
def test_other_files_are_refused(content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(InputError, match="file"):
        read_torch_file(tmp_path / "file")
    with pytest.raises(InputError, match="cannot be read"):
        read_torch_file(tmp_path / "absent")


@pytest.mark.filterwarnings("ignore:invalid escape sequence")
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("layout", LAYOUTS)
@given(cut=st.integers(0, 10_000), noise=st.binary(max_size=8), keep=st.integers(0, 2))
def test_damage_is_an_input_error_or_other_data(tmp_path_factory, layout, cut, noise, keep):
    path = tmp_path_factory.mktemp("damaged") / "file"
    configuration = argparse.Namespace(x=torch.ones(3, 3))
    saved({"a": torch.arange(40.0), "b": configuration, "c": np.float64(2.0)}, path, layout)
    whole = bytearray(path.read_bytes())
    place = cut % len(whole)
    whole[place : place + len(noise)] = noise
    path.write_bytes(whole if keep else whole[:place])
    try:
        read_torch_file(path)
    except InputError as error:
        assert str(path) in str(error)
