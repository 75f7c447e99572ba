"""What was meant, in every error where it can be told: one class, three ways."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import keras_posenc as kp
from helpers.tensors import zeros

CLASSES: dict[str, Callable[..., Any]] = {
    "rank1": lambda **given: kp.PositionalEncoding(1, 8, **given),
    "1d": lambda **given: kp.PositionalEncoding1D(8, **given),
    "3d": lambda **given: kp.PositionalEncoding3D(12, **given),
    "permute2d": lambda **given: kp.PositionalEncodingPermute2D(8, **given),
    "values": lambda **given: kp.CoordinateEncoding(8, **given),
    "sinusoid": lambda **given: kp.SinusoidEncoding(8, **given),
    "sum": lambda **given: kp.Summer(kp.PositionalEncoding1D(8), **given),
}
each_class = pytest.mark.parametrize("name", CLASSES)

# Arguments in the place of the rank.


@pytest.mark.parametrize(
    "keyword", ["d_model", "dim", "embed_dim", "hidden_dim", "channels"]
)
def test_a_class_without_its_rank_names_those_that_have_one(keyword: str):
    with pytest.raises((TypeError, ValueError), match="PositionalEncoding1D") as raised:
        kp.PositionalEncoding(**{keyword: 512})
    assert "rank" in str(raised.value)
    if keyword != "channels":
        assert "`channels`" in str(raised.value)


def test_a_class_without_any_argument_names_those_that_have_a_rank():
    with pytest.raises(TypeError, match="PositionalEncoding1D"):
        kp.PositionalEncoding()


@pytest.mark.filterwarnings("ignore:.* has no channel for axis:UserWarning")
@pytest.mark.parametrize("built", [False, True], ids=["first-call", "later-call"])
@pytest.mark.parametrize(
    ("rank", "shape"),
    [(16, (2, 5, 16)), (12, (2, 3, 4, 12)), (8, (2, 8, 5)), (6, (2, 2, 2, 2, 6))],
    ids=str,
)
def test_channels_in_the_place_of_the_rank_name_the_class(
    rank: int, shape: tuple[int, ...], built: bool
):
    layer = kp.PositionalEncoding(rank)
    if built:
        layer.build((2, *(2,) * rank, 2 * rank))
    meant = rf"PositionalEncoding{len(shape) - 2}D\({rank}\)"
    with pytest.raises(ValueError, match=meant):
        layer(zeros(*shape))


def test_channels_beyond_any_rank_say_which_argument_they_are():
    with pytest.raises(ValueError, match="`channels` are the second argument"):
        kp.PositionalEncoding(512)
    with pytest.raises(ValueError, match="`channels` are the second argument"):
        kp.PositionalEncoding(512)(zeros(2, 5, 512))


@pytest.mark.parametrize("keyword", ["dropout", "dropout_rate"])
@each_class
def test_dropout_is_a_layer_of_its_own(name: str, keyword: str):
    with pytest.raises((TypeError, ValueError), match=r"layer of its own.*Dropout"):
        CLASSES[name](**{keyword: 0.1})


@pytest.mark.parametrize("keyword", ["dropout", "dropout_rate"])
@pytest.mark.parametrize("name", ["encode", "table", "no-rank", "from_preset"])
def test_dropout_is_no_option_of_a_function(name: str, keyword: str):
    given = {keyword: 0.1}
    with pytest.raises((TypeError, ValueError), match=r"layer of its own.*Dropout"):
        {
            "encode": lambda: kp.encode([1], 8, **given),
            "table": lambda: kp.sinusoidal_table(3, 8, **given),
            "no-rank": lambda: kp.PositionalEncoding(**given),
            "from_preset": lambda: kp.PositionalEncoding1D.from_preset(
                "ddpm", 8, **given
            ),
        }[name]()


def test_a_length_is_hinted_at_where_the_rank_is_missing():
    with pytest.raises(TypeError, match="any length is taken"):
        kp.PositionalEncoding(max_len=100, d_model=8)


def test_every_class_is_tried():
    tried = {type(make()).__name__ for make in CLASSES.values()}
    families = {name.rstrip("123D") for name in tried}
    layers = {
        name.rstrip("123D")
        for name, value in vars(kp).items()
        if inspect.isclass(value) and value.__module__.startswith("keras_posenc")
    }
    assert families >= {name for name in layers if not name.startswith("TF")}
