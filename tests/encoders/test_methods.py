"""What holds of every method, tested the moment it is registered."""

from itertools import product

import pytest
import torch

from sciprism.encoders.methods import FORMATS, ROLES, methods
from sciprism.encoders.packing import pack
from sciprism.encoders.transformer import Transformer, TransformerConfig
from sciprism.errors import InputError

CONFIG = TransformerConfig(vocabulary=50, hidden=16, layers=2, heads=4, intermediate=24, positions=32)


@pytest.fixture(params=sorted(methods))
def method(request):
    return methods[request.param]()


def test_formats_come_from_the_list(method):
    assert method.formats and set(method.formats) <= set(FORMATS)
    assert len(set(method.formats)) == len(method.formats)


def test_every_format_and_role_has_a_route_and_a_space(method):
    for format, role in product(method.formats, ROLES):
        route, space = method.route(format, role), method.space(format, role)
        assert isinstance(route, str) and route and isinstance(space, str) and space
        assert (method.route(format, role), method.space(format, role)) == (route, space)


def test_a_filled_transformer_runs_every_route(method):
    torch.manual_seed(0)
    model = Transformer(CONFIG)
    method.fill(model)
    model.prepare(torch.float32)
    routes = sorted({method.route(format, role) for format, role in product(method.formats, ROLES)})
    batch = pack([[7, 8, 9 + n] for n in range(len(routes))], routes)
    with torch.inference_mode():
        states = model(batch)
        assert states.shape == (3 * len(routes), 16) and torch.isfinite(states).all()
        assert torch.equal(model(batch), states)
        alone = torch.cat([model(pack([[7, 8, 9 + n]], route)) for n, route in enumerate(routes)])
    assert torch.allclose(states, alone, atol=1e-5)


def test_single_fills_nothing_and_has_one_space():
    model = Transformer(CONFIG)
    before = {name for name, _ in model.named_modules()}
    single = methods["single"]()
    single.fill(model)
    assert {name for name, _ in model.named_modules()} == before
    assert single.formats == FORMATS
    assert {single.space(f, r) for f, r in product(FORMATS, ROLES)} == {"all"}


def test_unknown_method():
    with pytest.raises(InputError, match=r"unknown method 'magic'; known: .*single"):
        methods["magic"]


def test_a_name_is_registered_once():
    with pytest.raises(ValueError, match="method 'single' is registered twice"):
        methods.register("single")(object)
