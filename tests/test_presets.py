"""Presets: each against numbers of its original, and what `from_preset` promises.

Numbers come from the golden file, which has tables that the originals' own code made,
or from formulas that are written out here; each names the code that it follows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import keras_posenc as kp
from helpers.internals import OPTION_NAMES, PRESETS
from helpers.tensors import to_numpy
from helpers.tolerances import COUNTING

GOLDEN = {
    item["name"]: item
    for item in json.loads(
        (Path(__file__).parent / "golden/published_encodings.json").read_text()
    )
}
LAST = {rank: getattr(kp, f"PositionalEncoding{rank}D") for rank in (1, 2, 3)}
FIRST = {rank: getattr(kp, f"PositionalEncodingPermute{rank}D") for rank in (1, 2, 3)}

_FAIRSEQ = "fairseq/M2M100 rows seen by an unpadded input, padding_idx=1"
_HALVES = "HF Marian / Pegasus / CTRL / TF tutorial / MAE 1D"
_COSINES = "SD UNet / diffusers flip=True shift=0 / DiT / ADM"
_COLUMN = "MAE / I-JEPA / DiT / ClimaX / Scenic / MONAI 2D"
_ENDPOINT_2D = "big_vision / vit-pytorch posemb_sincos_2d"

# Preset, the name of the table, and what the original was told beside its defaults.
TABLES: list[tuple[str, str, dict[str, Any]]] = [
    ("attention-is-all-you-need", "vaswani / pytorch tutorial / UvA", {}),
    ("positional-encodings", "tatp22 1D C=7", {}),
    ("positional-encodings", "tatp22 2D C=10", {}),
    ("positional-encodings", "tatp22 3D C=10", {}),
    ("tensor2tensor", "t2t get_timing_signal_1d / tf-models / flax wmt", {}),
    ("fairseq", _FAIRSEQ, {}),
    ("m2m100", _FAIRSEQ, {}),
    ("nllb", _FAIRSEQ, {}),
    ("marian-hf", _HALVES, {}),
    ("whisper", "whisper sinusoids", {}),
    ("musicgen", "HF MusicGen", {}),
    ("ddpm", "DDPM / diffusers flip=False shift=1", {}),
    ("dit", _COSINES, {}),
    ("dit", _COLUMN, {}),
    ("stable-diffusion", _COSINES, {}),
    # Its rows are those of the timesteps 0, 0.001, 0.002, ...
    ("flux-timestep", "FLUX timestep (t in [0,1], x1000)", {"scale": 1.0}),
    ("im2latex", "Wang & Liu 2D", {}),
    ("detr", "DETR family normalize=True", {}),
    ("detr-unnormalized", "DETR normalize=False", {}),
    ("deformable-detr", "Deformable DETR", {}),
    ("dab-detr", "DAB tempH=10 tempW=50", {"max_wavelength": [10.0, 50.0]}),
    ("loftr", "LoFTR (fixed)", {}),
    ("mae", _HALVES, {}),
    ("mae", _COLUMN, {}),
    ("i-jepa", _COLUMN, {}),
    ("v-jepa", "V-JEPA 2D / HF v5 build_2d / MoCo-v3(sq) / RT-DETR(sq)", {}),
    ("v-jepa", "V-JEPA 3D D=16", {}),
    ("v-jepa-uniform-power", "V-JEPA 3D uniform_power D=16", {}),
    ("big-vision", _ENDPOINT_2D, {}),
    ("simple-vit", _ENDPOINT_2D, {}),
    ("simple-vit", "vit-pytorch posemb_sincos_3d C=14", {}),
    (
        "timm-sincos2d",
        "timm build_sincos2d interleave_sin_cos=True",
        {"layout": "concatenated"},
    ),
    (
        "pixart",
        "PixArt/diffusers 2D base_size=16 interp=2",
        {"coordinate_range": [0.0, 16 / 2]},
    ),
    ("monai", _COLUMN, {}),
    ("monai", "MONAI 3D", {}),
    ("videomae", "XLM / DistilBERT / VideoMAE table", {}),
    ("prithvi", "Prithvi 3D D=16", {}),
    (
        "nerf",
        "NeRF code (no pi), L=2, on (row,col)/n",
        {"coordinate_range": [0.0, 1.0]},
    ),
    ("u-tae", "U-TAE T=1000", {}),
]


@pytest.mark.parametrize(("name", "table", "overrides"), TABLES)
def test_equals_the_table_of_the_original(
    name: str, table: str, overrides: dict[str, Any]
):
    golden = GOLDEN[table]
    shape, channels = golden["shape"], golden["channels"]
    expected = np.reshape(golden["table"], (*shape, channels))
    layer = LAST[len(shape)].from_preset(name, channels, **overrides)
    outputs = to_numpy(layer(np.zeros((1, *shape, channels), "float32")))[0]
    # 2e-7 for ours and 0.5e-7 for the decimals of the file.
    tolerance = 2.5e-7 + golden["original_error"]
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=tolerance)
    made = kp.sinusoidal_table(shape, channels, preset=name, **overrides)
    np.testing.assert_allclose(made, expected, rtol=0, atol=tolerance)


# --- Formulas, each after the code that it names -------------------------------------


def halves(positions: Any, channels: int, base: float = 10000.0) -> np.ndarray:
    """All sines, then all cosines: MAE's 1D function, and whoever took it over."""
    frequencies = base ** -(np.arange(channels // 2) / (channels // 2))
    angles = np.multiply.outer(np.asarray(positions, "float64"), frequencies)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)


def pairs(positions: Any, channels: int, base: float) -> np.ndarray:
    """Sine, cosine, sine, cosine, ...: DETR's, whose exponent is 2 * (i // 2) / C."""
    i = np.arange(channels)
    angles = np.multiply.outer(
        np.asarray(positions, "float64"), base ** -(2 * (i // 2) / channels)
    )
    return np.where(i % 2 == 0, np.sin(angles), np.cos(angles))


def on_grid(sizes: tuple[int, ...], blocks: dict[int, np.ndarray]) -> np.ndarray:
    """The blocks of channels of each axis, one after the other in the order given."""
    parts = []
    for axis, block in blocks.items():
        shape = [1] * len(sizes) + [block.shape[-1]]
        shape[axis] = sizes[axis]
        target = (*sizes, block.shape[-1])
        parts.append(np.broadcast_to(block.reshape(shape), target))
    return np.concatenate(parts, axis=-1)


def positional_encodings_5(sizes: tuple[int, ...], channels: int) -> np.ndarray:
    """positional_encodings.py of tatp22/multidim-positional-encoding at 5.0.0."""
    width = 2 * int(np.ceil(channels / (2 * len(sizes))))
    blocks = {axis: halves(np.arange(n), width) for axis, n in enumerate(sizes)}
    return on_grid(sizes, blocks)[..., :channels]


def tensor2tensor(sizes: tuple[int, ...], channels: int) -> np.ndarray:
    """add_timing_signal_nd of tensor2tensor/layers/common_attention.py."""
    scales = channels // (2 * len(sizes))
    frequencies = np.exp(-np.arange(scales) * np.log(1e4) / (scales - 1))
    blocks = {}
    for axis, n in enumerate(sizes):
        angles = np.outer(np.arange(n), frequencies)
        blocks[axis] = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    table = on_grid(sizes, blocks)
    left = channels - table.shape[-1]
    return np.pad(table, [(0, 0)] * len(sizes) + [(0, left)])


def transformer_xl(sizes: tuple[int, ...], channels: int) -> np.ndarray:
    """PositionalEmbedding of transformer-xl/pytorch/mem_transformer.py, from 0 up."""
    return halves(np.arange(sizes[0]), channels)


def temperatures_of_20(sizes: tuple[int, ...], channels: int) -> np.ndarray:
    """PositionEmbeddingSineHW of DINO's and DAB-DETR's position_encoding.py."""
    blocks = {
        axis: pairs(
            np.arange(1, n + 1) / (n + 1e-6) * 2 * np.pi, channels // 2, base=20.0
        )
        for axis, n in enumerate(sizes)
    }
    return on_grid(sizes, blocks)


def loftr_unfixed(sizes: tuple[int, ...], channels: int) -> np.ndarray:
    """position_encoding.py of LoFTR with `temp_bug_fix=False` (issue 41 there)."""
    rounded = -np.log(10000.0) / channels // 2
    frequencies = np.exp(np.arange(0, channels // 2, 2) * rounded)
    row, column = np.meshgrid(*[np.arange(1.0, n + 1) for n in sizes], indexing="ij")
    table = np.zeros((*sizes, channels))
    table[..., 0::4] = np.sin(column[..., None] * frequencies)
    table[..., 1::4] = np.cos(column[..., None] * frequencies)
    table[..., 2::4] = np.sin(row[..., None] * frequencies)
    table[..., 3::4] = np.cos(row[..., None] * frequencies)
    return table


def timm_sincos2d(sizes: tuple[int, ...], channels: int) -> np.ndarray:
    """build_sincos2d_pos_embed of timm/layers/pos_embed_sincos.py, its defaults."""
    bands = 10000.0 ** -(np.arange(channels // 4) / (channels // 4))
    grid = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), axis=-1)
    angles = (grid[..., None] * bands).reshape(*sizes, -1)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)


def pixart(sizes: tuple[int, ...], channels: int) -> np.ndarray:
    """diffusion/model/nets/PixArt.py of its 1,024-pixel model: `base_size=64`,
    `lewei_scale=2`."""
    row, column = (np.arange(n) / (n / 64) / 2 for n in sizes)
    half = channels // 2
    return on_grid(sizes, {1: halves(column, half), 0: halves(row, half)})


def cogvideox(sizes: tuple[int, ...], channels: int) -> np.ndarray:
    """get_3d_sincos_pos_embed of diffusers/models/embeddings.py, with the defaults of
    CogVideoXTransformer3DModel: `spatial_interpolation_scale=1.875`, and 1 in time."""
    time, row, column = (
        np.arange(n) / s for n, s in zip(sizes, (1.0, 1.875, 1.875), strict=True)
    )
    space = 3 * channels // 4
    blocks = {
        0: halves(time, channels // 4),
        2: halves(column, space // 2),
        1: halves(row, space // 2),
    }
    return on_grid(sizes, blocks)


def nerf(sizes: tuple[int, ...], channels: int) -> np.ndarray:
    """Embedder of bmild/nerf's run_nerf_helpers.py on the points of a grid."""
    points = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), axis=-1)
    frequencies = 2.0 ** np.arange(channels // (2 * len(sizes)))
    parts = [f(points * k) for k in frequencies for f in (np.sin, np.cos)]
    return np.concatenate(parts, axis=-1)


def perceiver(sizes: tuple[int, ...], channels: int) -> np.ndarray:
    """generate_fourier_features of deepmind-research/perceiver/position_encoding.py,
    with `max_resolution=(224, ...)` and `concat_pos=False`."""
    bands = np.linspace(1.0, 224 / 2, channels // (2 * len(sizes)))
    axes = [np.linspace(-1.0, 1.0, n) for n in sizes]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    angles = np.pi * (points[..., None] * bands).reshape(*sizes, -1)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)


def flux(sizes: tuple[int, ...], channels: int) -> np.ndarray:
    """timestep_embedding of flux/modules/layers.py, whose `time_factor` is 1000."""
    sines, cosines = np.split(halves(1000.0 * np.arange(sizes[0]), channels), 2, -1)
    return np.concatenate([cosines, sines], axis=-1)


Formula = Callable[[tuple[int, ...], int], np.ndarray]
FORMULAS: list[tuple[str, Formula, tuple[int, ...], int]] = [
    ("positional-encodings-5", positional_encodings_5, (6,), 7),
    ("positional-encodings-5", positional_encodings_5, (3, 4), 10),
    ("positional-encodings-5", positional_encodings_5, (2, 3, 4), 10),
    ("tensor2tensor", tensor2tensor, (6,), 9),
    ("tensor2tensor", tensor2tensor, (3, 4), 14),
    ("tensor2tensor", tensor2tensor, (2, 3, 4), 16),
    ("tensor2tensor", tensor2tensor, (2, 3, 2, 2), 20),
    ("transformer-xl", transformer_xl, (6,), 8),
    ("dab-detr", temperatures_of_20, (3, 4), 12),
    ("dino-detr", temperatures_of_20, (3, 4), 12),
    ("loftr-unfixed", loftr_unfixed, (3, 4), 16),
    ("timm-sincos2d", timm_sincos2d, (3, 4), 12),
    ("pixart", pixart, (3, 4), 12),
    ("cogvideox", cogvideox, (2, 3, 4), 32),
    ("nerf", nerf, (4,), 6),
    ("nerf", nerf, (2, 3, 4), 60),
    ("perceiver", perceiver, (5,), 12),
    ("perceiver", perceiver, (3, 4), 16),
    ("perceiver", perceiver, (2, 3, 4), 24),
    ("flux-timestep", flux, (6,), 8),
]


@pytest.mark.parametrize(("name", "formula", "sizes", "channels"), FORMULAS)
def test_equals_the_formula_of_the_original(
    name: str, formula: Formula, sizes: tuple[int, ...], channels: int
):
    expected = formula(sizes, channels)
    rank = len(sizes)
    layer = kp.PositionalEncoding.from_preset(name, channels, rank=rank)
    outputs = to_numpy(layer(np.zeros((1, *sizes, channels), "float32")))[0]
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=COUNTING)
    table = kp.sinusoidal_table(sizes, channels, dtype="float64", preset=name)
    # Two float64 computations of angles up to 2,048.
    np.testing.assert_allclose(table, expected, rtol=0, atol=2e-12)


def test_every_preset_has_numbers_of_its_original():
    tested = {(name, len(GOLDEN[table]["shape"])) for name, table, _ in TABLES}
    tested |= {(name, len(sizes)) for name, _, sizes, _ in FORMULAS}
    wanted = {
        (row.name, rank) for row in PRESETS.values() for rank in row.ranks or (1, 2, 3)
    }
    # Of NeRF's all ranks, two dimensions are in the golden file.
    assert wanted <= tested


def test_numbers_that_can_be_worked_out_by_hand():
    """Whisper's second row: frequencies 1 and 1/10000, sines before cosines."""
    expected = [np.sin(1), np.sin(1e-4), np.cos(1), np.cos(1e-4)]
    table = kp.sinusoidal_table(2, 4, preset="whisper")
    np.testing.assert_allclose(table[1], expected, rtol=0, atol=6e-8)


# --- What the originals do beside the waves ------------------------------------------


def test_fairseq_with_padding():
    """make_positions of fairseq/utils.py gives tokens the rows 2, 3, 4, padding row 1.

    Rows are those of SinusoidalPositionalEmbedding.get_embedding, which count from 0.
    """
    rows = tensor2tensor((5,), 8)
    mask = np.array(
        [[True, True, True, False, False], [False, False, True, True, True]]
    )
    positions = kp.positions_from_mask(mask, start=2, masked=1)
    # The preset adds 2 to positions: these have it already.
    layer = kp.PositionalEncoding1D.from_preset("fairseq", 8, offset=0.0)
    outputs = to_numpy(layer(np.zeros((2, 5, 8), "float32"), positions=positions))
    expected = rows[[[2, 3, 4, 1, 1], [1, 1, 2, 3, 4]]]
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=COUNTING)


def test_mae_with_a_class_token():
    """get_2d_sincos_pos_embed of mae/util/pos_embed.py with `cls_token=True`."""
    grid = on_grid(
        (3, 3), {1: halves(np.arange(3), 8), 0: halves(np.arange(3), 8)}
    ).reshape(9, 16)
    expected = np.concatenate([np.zeros((1, 16)), grid])
    layer = kp.PositionalEncoding2D.from_preset("mae", 16, grid=[3, 3], prefix_tokens=1)
    outputs = to_numpy(layer(np.zeros((1, 10, 16), "float32")))[0]
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=COUNTING)


def test_transformer_xl_counts_down():
    """Its forward pass: `pos_seq` from klen - 1 down to 0."""
    expected = transformer_xl((6,), 8)[::-1]
    layer = kp.PositionalEncoding1D.from_preset("transformer-xl", 8)
    inputs = np.zeros((1, 6, 8), "float32")
    outputs = to_numpy(layer(inputs, positions=np.arange(5, -1, -1)))[0]
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=COUNTING)


def test_dates_of_u_tae():
    """positional_encoding.py of utae-paps: days in, `T=1000`."""
    days = np.array([3.0, 17.0, 365.0])
    layer = kp.CoordinateEncoding.from_preset("u-tae", 8)
    outputs = to_numpy(layer(days))
    np.testing.assert_allclose(outputs, pairs(days, 8, 1000.0), rtol=0, atol=COUNTING)


def test_points_of_nerf():
    points = np.array([[0.25, -0.5, 0.125], [1.0, 0.3, -0.7]])
    parts = [f(points * 2.0**k) for k in range(10) for f in (np.sin, np.cos)]
    layer = kp.CoordinateEncoding.from_preset("nerf", 60, rank=3)
    expected = np.concatenate(parts, axis=-1)
    np.testing.assert_allclose(to_numpy(layer(points)), expected, rtol=0, atol=COUNTING)


def test_timesteps_of_flux():
    """The golden table is that of the timesteps i / 1000, in floating point."""
    golden = GOLDEN["FLUX timestep (t in [0,1], x1000)"]
    layer = kp.CoordinateEncoding.from_preset("flux-timestep", golden["channels"])
    outputs = to_numpy(layer(np.arange(6) / 1000))
    expected = np.array(golden["table"])
    tolerance = 2.5e-7 + golden["original_error"]
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=tolerance)


# --- Every preset under every class that it is for -----------------------------------

CHANNELS = 48
SIZES = (3, 4, 2)
EVERY = [(name, rank) for rank in (1, 2, 3) for name in kp.presets(rank)]
each_preset = pytest.mark.parametrize(("name", "rank"), EVERY)


@each_preset
def test_every_class_has_the_same_numbers(name: str, rank: int):
    sizes = SIZES[:rank]
    table = kp.sinusoidal_table(sizes, CHANNELS, preset=name).astype("float64")
    zeros = np.zeros((1, *sizes, CHANNELS), "float32")
    general = kp.PositionalEncoding.from_preset(name, CHANNELS, rank=rank)
    np.testing.assert_array_equal(to_numpy(general(zeros))[0], table)
    last = LAST[rank].from_preset(name, CHANNELS)
    assert type(last) is LAST[rank]
    np.testing.assert_array_equal(to_numpy(last(zeros))[0], table)
    first = FIRST[rank].from_preset(name, CHANNELS)
    assert type(first) is FIRST[rank]
    outputs = to_numpy(first(np.moveaxis(zeros, -1, 1)))[0]
    np.testing.assert_array_equal(np.moveaxis(outputs, 0, -1), table)


@each_preset
def test_values_and_functions_have_the_same_numbers(name: str, rank: int):
    # Multiples of 2^-10: of others, float32 does not know NeRF's 24th octave.
    points = np.random.default_rng(0).integers(-3000, 3000, size=(5, rank)) / 1024
    values = points[:, 0] if rank == 1 else points
    exact = kp.sinusoidal_table(
        None, CHANNELS, positions=points, dtype="float64", preset=name
    )
    layer = kp.CoordinateEncoding.from_preset(name, CHANNELS, rank=rank)
    np.testing.assert_allclose(to_numpy(layer(values)), exact, rtol=0, atol=COUNTING)
    encoded = kp.encode(values, CHANNELS, rank=rank, preset=name)
    np.testing.assert_allclose(to_numpy(encoded), exact, rtol=0, atol=COUNTING)


@each_preset
def test_the_config_has_the_options_and_not_the_name(name: str, rank: int):
    layer = LAST[rank].from_preset(name, CHANNELS, name="encoding")
    config = layer.get_config()
    options = PRESETS[name].options(rank, CHANNELS)
    assert {option: config.get(option) for option in options} == options
    assert name not in json.dumps(config)
    assert LAST[rank].from_config(config).get_config() == config
    clone = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(layer)
    )
    assert clone.get_config() == config


@each_preset
def test_a_preset_is_the_options_that_it_stands_for(name: str, rank: int):
    options = PRESETS[name].options(rank, CHANNELS)
    assert set(options) <= set(OPTION_NAMES)
    written = kp.PositionalEncoding(rank, CHANNELS, name="encoding", **options)
    made = kp.PositionalEncoding.from_preset(name, CHANNELS, rank=rank, name="encoding")
    assert made.get_config() == written.get_config()


def needs_channels(name: str, rank: int) -> bool:
    row = PRESETS[name]
    return callable(row.by_rank.get(rank, row.by_rank.get(0)))


@pytest.mark.parametrize(
    ("name", "rank"), [case for case in EVERY if not needs_channels(*case)]
)
def test_channels_may_be_those_of_the_input(name: str, rank: int):
    layer = LAST[rank].from_preset(name)
    assert layer.channels is None
    zeros = np.zeros((1, *SIZES[:rank], CHANNELS), "float32")
    table = kp.sinusoidal_table(SIZES[:rank], CHANNELS, preset=name)
    np.testing.assert_array_equal(to_numpy(layer(zeros))[0], table.astype("float64"))


@pytest.mark.parametrize(
    ("name", "rank"), [case for case in EVERY if needs_channels(*case)]
)
def test_channels_that_options_follow_from_must_be_given(name: str, rank: int):
    message = (
        f"`channels` must be given with the preset {name!r}, whose options follow "
        r"from them\. Received: channels=None"
    )
    with pytest.raises(ValueError, match=message):
        LAST[rank].from_preset(name)


# --- Overrides -----------------------------------------------------------------------


def test_an_option_that_is_given_wins():
    layer = kp.PositionalEncoding2D.from_preset("mae", 16, max_wavelength=[20.0, 30.0])
    assert layer.max_wavelength == (20.0, 30.0)
    assert layer.layout == "concatenated"
    swapped = kp.PositionalEncoding2D.from_preset("mae", 16, axis_order=None)
    assert swapped.axis_order is None


def test_layer_arguments():
    layer = kp.PositionalEncoding2D.from_preset(
        "mae",
        16,
        name="places",
        dtype="float64",
        data_format="channels_first",
        grid=[2, 3],
        prefix_tokens=1,
    )
    assert layer.name == "places"
    assert layer.compute_dtype == "float64"
    assert layer.data_format == "channels_first"
    assert layer.grid == (2, 3)
    assert layer.prefix_tokens == 1
    layer = kp.CoordinateEncoding.from_preset("ddpm", 16, dtype="float16")
    assert layer.compute_dtype == "float16"


def test_frequencies_take_the_place_of_those_of_the_preset():
    layer = kp.PositionalEncoding1D.from_preset("whisper", 4, frequencies=[1.0, 0.5])
    assert layer.frequencies == (1.0, 0.5)
    assert layer.endpoint is False
    layer = kp.PositionalEncoding1D.from_preset("perceiver", 4, max_wavelength=10.0)
    assert layer.frequencies is None
    assert layer.max_wavelength == 10.0


def test_counting_takes_the_place_of_a_range():
    layer = kp.PositionalEncoding2D.from_preset("detr", 8, coordinate_range=None)
    same = kp.PositionalEncoding2D.from_preset("detr-unnormalized", 8, name=layer.name)
    assert layer.get_config() == same.get_config()


def test_functions_let_options_win():
    table = kp.sinusoidal_table(3, 8, preset="whisper", endpoint=False)
    same = kp.sinusoidal_table(3, 8, preset="marian-hf")
    np.testing.assert_array_equal(table, same)
    encoded = kp.encode([0, 1, 2], 8, preset="whisper", endpoint=False)
    np.testing.assert_allclose(to_numpy(encoded), same, rtol=0, atol=COUNTING)


def test_a_preset_that_was_changed_changes_no_other_layer():
    first = kp.PositionalEncoding2D.from_preset("mae", 16)
    first.get_config()["axis_order"].reverse()
    options = PRESETS["mae"].options(2, 16)
    options["layout"] = "interleaved"
    assert kp.PositionalEncoding2D.from_preset("mae", 16).layout == "concatenated"


def test_of_a_class_of_the_users_own():
    class Mine(kp.PositionalEncoding2D):
        pass

    assert type(Mine.from_preset("mae", 16)) is Mine


# --- Errors --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "use"),
    [
        (
            lambda: kp.PositionalEncoding1D.from_preset("detr", 8),
            r"Use PositionalEncoding2D\.from_preset\('detr'\) for",
        ),
        (
            lambda: kp.PositionalEncodingPermute3D.from_preset("mae", 8),
            r"Use PositionalEncodingPermute1D\.from_preset\('mae'\) or "
            r"PositionalEncodingPermute2D\.from_preset\('mae'\) for",
        ),
        (
            lambda: kp.PositionalEncoding.from_preset("detr", 8, rank=1),
            r"Use PositionalEncoding\.from_preset\('detr', rank=2\) for",
        ),
        (
            lambda: kp.CoordinateEncoding.from_preset("detr", 8),
            r"Use CoordinateEncoding\.from_preset\('detr', rank=2\) for",
        ),
        (lambda: kp.sinusoidal_table(3, 8, preset="detr"), r"Use rank 2 for"),
        (lambda: kp.encode([1], 8, preset="detr"), r"Use rank 2 for"),
    ],
)
def test_a_preset_of_another_rank_is_refused(make: Callable[[], Any], use: str):
    with pytest.raises(ValueError, match=f"`preset` must be one for rank .*{use}"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda preset: kp.PositionalEncoding2D.from_preset(preset),
        lambda preset: kp.sinusoidal_table((2, 3), 8, preset=preset),
        lambda preset: kp.encode([[1, 2]], 8, rank=2, preset=preset),
    ],
    ids=["layer", "table", "encode"],
)
def test_an_unknown_name_is_refused(make: Callable[[Any], Any]):
    names = r"one of the names in `keras_posenc\.presets\(\)`"
    with pytest.raises(
        ValueError, match=rf"{names}; close ones are detr, .*Received: preset='DETRR'"
    ):
        make("DETRR")
    with pytest.raises(ValueError, match=rf"{names}\. Received: preset='zzzzz'"):
        make("zzzzz")
    with pytest.raises(TypeError, match=r"`preset` must be a string.*preset=3"):
        make(3)


def test_the_general_class_needs_a_rank():
    message = r"`PositionalEncoding\.from_preset` needs `rank`.*preset='mae'"
    with pytest.raises(TypeError, match=message):
        kp.PositionalEncoding.from_preset("mae", 8)


def test_coordinate_encoding_needs_channels():
    with pytest.raises(TypeError, match=r"`channels` must be a positive integer"):
        kp.CoordinateEncoding.from_preset("ddpm")


def test_an_argument_of_no_layer_is_refused():
    with pytest.raises((TypeError, ValueError), match="temperature"):
        kp.PositionalEncoding1D.from_preset("mae", 8, temperature=20.0)


@pytest.mark.parametrize("cls", [kp.Summer, kp.SinusoidEncoding])
def test_layers_without_options_have_no_presets(cls: type):
    assert not hasattr(cls, "from_preset")


# --- The list ------------------------------------------------------------------------

NAMES = {
    "attention-is-all-you-need",
    "positional-encodings",
    "positional-encodings-5",
    "tensor2tensor",
    "fairseq",
    "m2m100",
    "nllb",
    "marian-hf",
    "whisper",
    "musicgen",
    "transformer-xl",
    "ddpm",
    "dit",
    "stable-diffusion",
    "flux-timestep",
    "im2latex",
    "detr",
    "detr-unnormalized",
    "deformable-detr",
    "dab-detr",
    "dino-detr",
    "loftr",
    "mae",
    "i-jepa",
    "v-jepa",
    "big-vision",
    "simple-vit",
    "timm-sincos2d",
    "pixart",
    "monai",
    "videomae",
    "cogvideox",
    "prithvi",
    "nerf",
    "perceiver",
    "u-tae",
}


def test_the_list_has_every_name():
    assert set(kp.presets()) >= NAMES
    assert set(kp.presets()) == set(PRESETS)


def test_the_list_of_a_rank():
    assert "mae" in kp.presets(1)
    assert "mae" in kp.presets(rank=2)
    assert "mae" not in kp.presets(3)
    assert set(kp.presets(7)) == {"tensor2tensor", "nerf", "perceiver"}


def test_the_list_is_the_callers_to_change():
    kp.presets().clear()
    assert "mae" in kp.presets()


@pytest.mark.parametrize("rank", [0, -1])
def test_a_bad_rank_of_the_list_is_refused(rank: int):
    with pytest.raises(ValueError, match=rf"`rank` must be a positive.*rank={rank}"):
        kp.presets(rank)


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_has_one_sentence_and_a_source(name: str):
    row = PRESETS[name]
    assert row.name == name
    assert row.sentence[0].isupper() or row.sentence.startswith("timm")
    assert row.sentence.endswith(".")
    assert ". " not in row.sentence
    assert row.source.startswith(("https://", "arXiv:"))


# --- More errors, and an override ----------------------------------------------------


def test_a_rank_beside_a_class_that_has_one_is_refused():
    message = r"^`PositionalEncoding2D` has its rank in its name\. Received: rank=2$"
    with pytest.raises(TypeError, match=message):
        kp.PositionalEncoding2D.from_preset("mae", 8, rank=2)


@pytest.mark.parametrize(
    ("name", "divisor"), [("v-jepa", 8), ("cogvideox", 16), ("prithvi", 16)]
)
def test_channels_that_a_preset_cannot_divide_are_refused(name: str, divisor: int):
    message = rf"^`channels` must be divisible by {divisor} with this preset\. .*=12$"
    with pytest.raises(ValueError, match=message):
        kp.PositionalEncoding3D.from_preset(name, 12)


def test_aligned_corners_leave_the_eps_of_a_preset_without_a_meaning():
    layer = kp.PositionalEncoding2D.from_preset("detr", 8, align_corners=True)
    assert (layer.align_corners, layer.eps) == (True, 0.0)
