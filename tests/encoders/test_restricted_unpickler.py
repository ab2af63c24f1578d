"""A pickle is read as data: the same values as the usual machine gives, and nothing of it is ever run."""

import collections
import enum
import functools
import importlib
import io
import logging
import os
import pickle
import subprocess
import sys
import types
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from sciprism.encoders.checkpoints.restricted_unpickler import PickleMachine, Placeholder
from sciprism.encoders.checkpoints.torch_files import read_torch_file
from sciprism.errors import InputError

LAYOUTS = {"zip": True, "old": False}
PROTOCOLS = range(6)


def run(program):
    """The object that the restricted machine makes of a pickle."""
    return PickleMachine().run(io.BytesIO(program))


def saved(value, path, layout="zip", **options):
    torch.save(value, path, _use_new_zipfile_serialization=LAYOUTS[layout], **options)
    return path


def same(a, b):
    """Whether two structures of containers, tensors and plain values are equal."""
    if isinstance(b, torch.Tensor):
        return isinstance(a, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(b, dict):
        return isinstance(a, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in b)
    if isinstance(b, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


# ---- plain values and tensors ----

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary()
    | st.binary().map(bytearray)
    | st.complex_numbers(allow_nan=False)
    | st.frozensets(st.integers())
    | st.sets(st.text("ab")),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text("abc") | st.integers(), inner)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text("abc"), inner).map(collections.OrderedDict)
        | inner.map(lambda value: [value, value, {"again": value}])
    ),
    max_leaves=20,
)


@given(value=PLAIN, protocol=st.sampled_from(PROTOCOLS))
def test_plain_values_are_what_the_usual_machine_gives(value, protocol):
    assert same(run(pickle.dumps(value, protocol=protocol)), plain(value))


def plain(value):
    """The value with an ordered dict as the dict that it is."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return type(value)(map(plain, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_values_that_hold_themselves(protocol):
    ring = [1]
    ring.append({"ring": ring})
    found = run(pickle.dumps(ring, protocol=protocol))
    assert found[1]["ring"] is found


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_tensors_of_every_kind(layout, protocol, tmp_path):
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
        "shape": base.shape,
    }
    found = read_torch_file(saved(value, tmp_path / "file", layout, pickle_protocol=protocol))
    value |= {"shape": (2, 3, 4), "parameter": value["parameter"].detach(), "state": dict(value["state"])}
    assert same(found, value)
    for name in ("turned", "part", "row"):
        assert found[name].untyped_storage().data_ptr() == found["base"].untyped_storage().data_ptr()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_numpy_numbers_become_plain_ones(layout, tmp_path):
    modules = ("numpy.core.multiarray", "numpy._core.multiarray")
    value = [np.int64(-3), np.float32(0.5), np.float64(1e300), np.bool_(True), np.str_("words"), np.int64(-3)]
    path = saved(value, tmp_path / "file", layout)
    assert read_torch_file(path) == [-3, 0.5, 1e300, True, "words", -3]
    program = pickle.dumps(value, protocol=2)
    written = next(name for name in modules if name.encode() in program)
    for module in modules:  # as numpy 1 and as numpy 2 name it
        assert run(program.replace(written.encode(), module.encode())) == [-3, 0.5, 1e300, True, "words", -3]


# ---- what is foreign ----


class Colour(enum.Enum):
    red = 1


class Keyed(dict):
    pass


class Listed(list):
    pass


class Held:
    def __init__(self, **values):
        self.__dict__.update(values)


class WithKeywords:
    def __new__(cls, *args, **keywords):
        instance = super().__new__(cls)
        instance.size = len(args) + len(keywords)
        return instance

    def __getnewargs_ex__(self):
        return (1,), {"b": 2}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_foreign_is_data(protocol):
    keyed, listed = Keyed(a=1, b=Colour.red), Listed([1, Held(x=2)])
    keyed.note = "n"
    found = run(pickle.dumps([Held(x=[1, 2]), keyed, listed, Colour.red, keyed], protocol=protocol))
    held, dictionary, row, colour, again = found
    assert all(isinstance(item, Placeholder) for item in found)
    assert held.state == {"x": [1, 2]}
    assert dictionary.state == {"note": "n"} and again is dictionary
    assert colour.args == (1,)
    if protocol < 2:  # they hand the contents over as an argument
        assert held.name == "copyreg._reconstructor" and held.args[0].name.endswith(".Held")
        assert row.args[2][0] == 1 and dictionary.args[2]["a"] == 1
    else:
        assert row.items[0] == 1
        assert dictionary.entries["a"] == 1 and dictionary.entries["b"] is colour
        assert held.name.endswith(".Held") and row.items[1].state == {"x": 2}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_plain_types_and_exceptions_may_be_named(protocol):
    """Configuration nodes name the types of their values; old protocols in the words of Python 2."""
    kinds = (int, str, dict, range, ValueError, OSError, KeyError)
    found = run(pickle.dumps(kinds, protocol=protocol))
    assert [item.name.rpartition(".")[2] for item in found] == [kind.__name__ for kind in kinds]
    assert all(item.args is None for item in found)


def test_keywords_of_a_new_object_are_kept():
    found = run(pickle.dumps(WithKeywords(1, b=2), protocol=4))
    assert found.args == (1, {"b": 2}) and found.state == {"size": 2}


@pytest.fixture
def lost_module(monkeypatch):
    """Give a module that is there while something is pickled and gone afterwards."""

    def make(name, **classes):
        module = types.ModuleType(name)
        for key, kind in classes.items():
            kind.__module__, kind.__qualname__ = name, key
            setattr(module, key, kind)
        monkeypatch.setitem(sys.modules, name, module)
        return lambda: monkeypatch.delitem(sys.modules, name)

    return make


@pytest.mark.parametrize("layout", LAYOUTS)
def test_modules_that_are_not_there_are_not_missed(layout, tmp_path, lost_module):
    class Node:
        pass

    forget = lost_module("configuration_nodes", Node=Node)
    node = Node()
    node.value, node.weights = 5, torch.ones(3)
    path = saved({"config": node, "kind": Node}, tmp_path / "file", layout)
    forget()
    found = read_torch_file(path)
    assert found["config"].name == "configuration_nodes.Node" and found["config"].args == ()
    assert found["config"].state["value"] == 5 and same(found["config"].state["weights"], torch.ones(3))
    assert found["kind"].name == "configuration_nodes.Node" and found["kind"].args is None
    with pytest.raises(ModuleNotFoundError):
        torch.load(path, weights_only=False)


def test_an_optimiser_and_its_state_are_data(tmp_path):
    layer = nn.Linear(3, 3)
    optimiser = torch.optim.AdamW(layer.parameters(), lr=0.1)
    layer(torch.ones(3)).sum().backward()
    optimiser.step()
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, 2)
    value = {"state": optimiser.state_dict(), "schedule": schedule, "itself": optimiser}
    found = read_torch_file(saved(value, tmp_path / "file"))
    assert same(found["state"]["state"], value["state"]["state"])
    assert found["state"]["param_groups"][0]["lr"] == 0.1
    assert found["itself"].name == "torch.optim.adamw.AdamW"
    assert found["schedule"].name == "torch.optim.lr_scheduler.StepLR"


def test_no_module_is_imported(tmp_path, monkeypatch):
    (tmp_path / "loud_module.py").write_text(f"open({str(tmp_path / 'marker')!r}, 'w').close()\nThing = int\n")
    monkeypatch.syspath_prepend(tmp_path)
    program = b"cloud_module\nThing\n(K\x01tR."
    found = run(program)
    assert found.name == "loud_module.Thing" and found.args == (1,)
    assert "loud_module" not in sys.modules and not (tmp_path / "marker").exists()
    assert pickle.loads(program) == 1 and (tmp_path / "marker").exists()


def test_a_call_that_is_not_refused_is_not_made_either(tmp_path):
    log = tmp_path / "log"

    class Opens:
        def __reduce__(self):
            return logging.FileHandler, (str(log),)

    found = run(pickle.dumps(Opens()))
    assert found.name == "logging.FileHandler" and found.args == (str(log),)
    assert not log.exists()


def test_what_is_known_cannot_be_changed(tmp_path):
    """The usual machine sets attributes on anything that a file names; functions of torch too."""
    rebuild = torch._utils._rebuild_tensor_v2
    before = rebuild.__defaults__
    program = b"ctorch._utils\n_rebuild_tensor_v2\n(N}U\x0c__defaults__(I1\nI2\ntstb."
    found = run(program)
    assert isinstance(found, Placeholder) and rebuild.__defaults__ is before
    found = run(b"ccollections\nOrderedDict\n)R}U\x05itemsU\x03badsb.")
    assert found == {} and callable(found.items)


# ---- attacks ----


class Attack:
    def __init__(self, make):
        self.make = make

    def __reduce__(self):
        return self.make()

    def __call__(self):
        """A pickle calls only what can be called."""


def touch(marker):
    return f"open({str(marker)!r}, 'w').close()"


ATTACKS = {
    "posix.system": lambda m: (os.system, (f"touch {m}",)),
    "builtins.eval": lambda m: (eval, (touch(m),)),
    "builtins.exec": lambda m: (exec, (touch(m),)),
    "builtins.open": lambda m: (open, (str(m), "w")),
    "builtins.getattr": lambda m: (
        Attack(lambda: (getattr, (Attack(lambda: (importlib.import_module, ("os",))), "system"))),
        (f"touch {m}",),
    ),
    "subprocess.Popen": lambda m: (subprocess.Popen, (["touch", str(m)],)),
    "importlib.import_module": lambda m: (importlib.import_module, ("os",)),
    "posix.system in a partial": lambda m: (
        Attack(lambda: (functools.partial, (os.system, f"touch {m}"))),
        (),
    ),
    "builtins.exec in a state": lambda m: (Held, (), {"x": Attack(lambda: (exec, (touch(m),)))}),
    "builtins.map": lambda m: (list, (Attack(lambda: (map, (eval, [touch(m)]))),)),
    "io.open": lambda m: (io.open_code, (str(m),)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", ATTACKS)
def test_attacks_are_refused_and_not_run(case, layout, tmp_path):
    marker = tmp_path / "marker"
    value = {"model": torch.ones(2), "config": [Attack(lambda: ATTACKS[case](marker))]}
    path = saved(value, tmp_path / "file", layout)
    with pytest.raises(InputError, match="which can run code: refused, and nothing was executed") as caught:
        read_torch_file(path)
    assert str(path) in str(caught.value)
    assert not marker.exists()


@pytest.mark.parametrize("case", ["posix.system", "builtins.eval", "builtins.getattr", "builtins.open"])
def test_the_attacks_work_where_they_are_let(case, tmp_path):
    marker = tmp_path / "marker"
    pickle.loads(pickle.dumps(Attack(lambda: ATTACKS[case](marker))))
    assert marker.exists()


WRITTEN_BY_HAND = {
    "global": b"cos\nsystem\n(Vtouch %s\ntR.",
    "python 2": b"c__builtin__\neval\n(V1\ntR.",
    "python 2 modules": b"ccommands\ngetoutput\n(Vtouch %s\ntR.",
    "from the stack": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x01x\x85R.",
    "instance": b"(Vtouch %s\nios\nsystem\n.",
    "object": b"(cos\nsystem\nVtouch %s\no.",
    "a submodule": b"cos.path\nexists\n(Vx\ntR.",
    "attributes of a container": b"cbuiltins\ndict.fromkeys\n(Vx\ntR.",
    "never called": b"cos\nsystem\n0N.",
}


@pytest.mark.parametrize("case", WRITTEN_BY_HAND)
def test_every_operation_that_names_something_is_watched(case, tmp_path):
    marker = tmp_path / "marker"
    program = WRITTEN_BY_HAND[case]
    with pytest.raises(InputError, match="which can run code: refused"):
        run(program % str(marker).encode() if b"%s" in program else program)
    assert not marker.exists()


@pytest.mark.parametrize("program", [b"\x82\x01.", b"\x97.", b"P12\n."], ids=["extension", "buffer", "text id"])
def test_operations_without_need_are_refused(program):
    with pytest.raises(InputError, match="is not read here"):
        run(program)


# ---- files ----


class Outside:
    """A tensor that claims more numbers, or an earlier place, than its storage has."""

    def __init__(self, offset, size, stride):
        self.place = offset, size, stride

    def __reduce__(self):
        storage = torch.arange(4.0)._typed_storage()
        return torch._utils._rebuild_tensor_v2, (storage, *self.place, False, collections.OrderedDict())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("place", [(0, (100,), (1,)), (2, (3,), (1,)), (-1, (2,), (1,)), (0, (2, 2), (3, 1))])
def test_a_tensor_stays_inside_its_storage(place, layout, tmp_path):
    assert same(read_torch_file(saved(Outside(1, (3,), (1,)), tmp_path / "f", layout)), torch.tensor([1.0, 2, 3]))
    with pytest.raises(InputError, match="damaged or not a torch file"):
        read_torch_file(saved(Outside(*place), tmp_path / "file", layout))


def test_a_program_of_torchscript_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "file", "w") as archive:
        archive.writestr("archive/constants.pkl", b"")
        archive.writestr("archive/data.pkl", b"N.")
    with pytest.raises(InputError, match="TorchScript"):
        read_torch_file(tmp_path / "file")


def test_compressed_records_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "file", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"N.")
    with pytest.raises(InputError, match="compressed"):
        read_torch_file(tmp_path / "file")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_kinds_of_numbers_that_are_not_known(layout, tmp_path):
    path = saved(torch.zeros(2, dtype=torch.complex64), tmp_path / "file", layout)
    with pytest.raises(InputError, match="ComplexFloatStorage; known: DoubleStorage"):
        read_torch_file(path)


def test_one_wrong_bit_in_a_tensor_is_seen(tmp_path):
    path = saved(torch.arange(100.0), tmp_path / "file")
    whole = bytearray(path.read_bytes())
    whole[whole.index(np.float32(57).tobytes())] ^= 1
    path.write_bytes(whole)
    with pytest.raises(InputError, match=r"the checksum of .*data/0 does not fit"):
        read_torch_file(path)


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
@pytest.mark.parametrize("layout", LAYOUTS)
@given(cut=st.integers(0, 10_000), noise=st.binary(max_size=8), keep=st.integers(0, 2))
def test_damage_is_an_input_error_or_other_data(tmp_path_factory, layout, cut, noise, keep):
    path = tmp_path_factory.mktemp("damaged") / "file"
    saved({"a": torch.arange(40.0), "b": Held(x=torch.ones(3, 3)), "c": np.float64(2.0)}, path, layout)
    whole = bytearray(path.read_bytes())
    place = cut % len(whole)
    whole[place : place + len(noise)] = noise
    path.write_bytes(whole if keep else whole[:place])
    try:
        read_torch_file(path)
    except InputError as error:
        assert str(path) in str(error)
