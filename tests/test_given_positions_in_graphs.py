"""`positions` in graphs, at sizes that are known and at those that are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from keras import ops

from helpers import reference
from helpers.position_cases import (
    CHANNELS,
    GIVEN,
    NAMED,
    OF_PLANES,
    PLANE_SIZES,
    PLANES,
    SEQUENCES,
    Sequence,
    as_tensor,
    encoding_at,
)
from helpers.run_modes import KNOWN, UNKNOWN, with_known_sizes, with_unknown_sizes
from helpers.tensors import to_numpy, to_tensor, zeros
from helpers.tolerances import assert_close


@pytest.mark.parametrize(
    ("case", "given"),
    [(case, "real-for-each") for case in SEQUENCES]
    + [(NAMED["1d"], "integer"), (NAMED["sinusoid"], "integer")],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
@pytest.mark.parametrize("mode", KNOWN)
def test_a_graph_encodes_given_positions(case: Sequence, mode: str, given: str):
    layer, x = case.make(), case.inputs()
    layer(x)
    function = with_known_sizes(lambda x, p: layer(x, positions=p), mode)
    outputs = case.encoding(function(x, as_tensor(GIVEN[given])))
    assert_close(outputs, encoding_at(GIVEN[given]))


@pytest.mark.parametrize("mode", KNOWN)
@pytest.mark.parametrize("name", ["2d", "sum-of-permute2d"])
def test_a_graph_encodes_positions_of_a_plane(name: str, mode: str):
    make, first = OF_PLANES[name]
    layer = make()
    x = zeros(2, CHANNELS, *PLANE_SIZES) if first else zeros(2, *PLANE_SIZES, CHANNELS)
    layer(x)
    function = with_known_sizes(lambda x, p: layer(x, positions=p), mode)
    outputs = to_numpy(function(x, as_tensor(PLANES["for-each"])))
    outputs = np.moveaxis(outputs, 1, -1) if first else outputs
    assert_close(outputs, reference.exact(PLANES["for-each"], CHANNELS))


@pytest.mark.parametrize("mode", UNKNOWN)
@pytest.mark.parametrize(
    ("name", "dtype"),
    [("1d", "int32"), ("sum-of-1d", "float32"), ("sinusoid", "int32")],
)
def test_a_graph_that_knows_no_sizes_encodes_given_positions(
    name: str, dtype: str, mode: str
):
    case = NAMED[name]
    layer = case.make()
    layer(case.inputs())

    def encode(positions: Any) -> Any:
        x = ops.zeros((*ops.shape(positions), CHANNELS))
        return layer(x, positions=positions)

    function = with_unknown_sizes(encode, mode, (None, None), dtype)
    given = GIVEN["for-each"]
    assert_close(function(to_tensor(given, dtype)), encoding_at(given))
