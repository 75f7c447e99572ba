"""The layer that encodes values: timesteps, timestamps, coordinates of points."""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import keras

from keras_posenc import _backend, _checks, _door
from keras_posenc._base import EncodingLayer, OptionArguments, Shape, shows
from keras_posenc._encoding import warn_of_unencoded_axes
from keras_posenc._engine.points import encode_positions
from keras_posenc._engine.waves import Recipe
from keras_posenc._from_preset import FromPreset
from keras_posenc._grid_layer import read_only
from keras_posenc._positions import HostValues, checked_numbers, require_coordinates
from keras_posenc._sinusoidal import DEFAULTS, WaveOptions


@keras.saving.register_keras_serializable(package="keras_posenc")
class CoordinateEncoding(FromPreset, EncodingLayer):
    """Sinusoidal encoding of values, not of places.

    For diffusion timesteps, timestamps, coordinates of points, boxes: each value (with
    `rank > 1`, each group of `rank` coordinates) becomes `channels` numbers, those that
    `PositionalEncoding` has at that position. Real values are taken for the exact value
    of their dtype; in eager calls, NumPy arrays are split before float32 could blur
    them, so that a timestamp in seconds keeps its fraction. Computed in float32 or
    better under every dtype policy and rounded once. Gradients flow to real values.
    Masks pass through.

    Keras rounds real values before this layer can see them: to float32 as a model gets
    them, so subtract an origin first; and under a mixed policy to float16 or bfloat16,
    as any layer before this one gets them. That warns: give that layer
    `dtype="float32"`, or the values to this layer first. A subclass that has a `call`
    of its own is given tensors, like any layer.

    Args:
        channels: Integer. Channels of the encoding. Positive.
        rank: Integer. Coordinates of a value. Positive. Defaults to `1`.
        **kwargs: The options of `PositionalEncoding`, such as `max_wavelength`, and
            base layer arguments such as `name` and `dtype`. With `coordinate_range`,
            values are coordinates already: only `scale` applies.

    Call arguments:
        inputs: Tensor of any shape, or of shape `(..., rank)` for `rank > 1`. Integer
            or real, negative too.

    Returns:
        Tensor of shape `(..., channels)`, in the layer's compute dtype.

    Raises:
        TypeError: If `channels` or `rank` is no integer, or inputs are no numbers.
        ValueError: If an argument has no valid value; when called, if the last
            dimension is not `rank`, or if the input is sparse or ragged.

    Example:
        >>> import keras
        >>> import numpy as np
        >>> from keras_posenc import CoordinateEncoding
        >>> timesteps = np.array([0.0, 1.0, 999.0])
        >>> layer = CoordinateEncoding.from_preset("ddpm", 320)
        >>> keras.ops.shape(layer(timesteps))
        (3, 320)

    Reference:
        - Ho et al., 2020, arXiv:2006.11239, appendix B (timesteps).
        - Mildenhall et al., 2020, arXiv:2003.08934, section 5.1 (points).
    """

    _rank: ClassVar[int] = 1
    _known = ("channels", "rank", *DEFAULTS)

    @shows(DEFAULTS)
    def __init__(self, channels: int, rank: int = 1, **kwargs: Unpack[OptionArguments]):
        base: dict[str, Any] = dict(kwargs)
        options = {name: base.pop(name) for name in DEFAULTS if name in base}
        super().__init__(**base)
        channels = _checks.channel_count("channels", channels)
        rank = _checks.grid_rank("rank", rank)
        self._options = WaveOptions(rank, channels, **options)
        warn_of_unencoded_axes(self, channels)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not args and "inputs" in kwargs:
            args = (kwargs.pop("inputs"),)
        if len(args) != 1 or _backend.is_tensor(args[0]):
            return super().__call__(*args, **kwargs)
        _door.warn_of_foreign(self, args[0])
        values = checked_numbers("inputs", args[0])
        if not self.built:
            # Keras builds a layer from the shapes of tensors, and there is none.
            self.build(values.shape)
        if not kwargs and _door.call_is_plain(self) and not _door.is_distributed():
            return self.call(values)
        if self._call_is_ours and _backend.tensors_lose_digits():
            return super().__call__(inputs=HostValues(values), **kwargs)
        return super().__call__(values, **kwargs)

    def call(self, inputs: Any) -> Any:
        values = checked_numbers("inputs", inputs)
        self._check_shape(tuple(values.shape))
        self._warn_of_rounded("inputs", values)
        recipe = Recipe(self._options, self.channels)
        return encode_positions(values, recipe, self.available_dtype)

    def _check_inputs(self, inputs: Any) -> None:
        values = checked_numbers("inputs", inputs)
        self._check_shape(tuple(values.shape))
        self._warn_of_rounded("inputs", values)

    def _check_shape(self, shape: Shape) -> None:
        require_coordinates("inputs", shape, self._options.rank)

    def compute_output_shape(self, input_shape: Any) -> Shape:
        shape = super().compute_output_shape(input_shape)
        points = shape if self._options.rank == 1 else shape[:-1]
        return (*points, self._options.channels)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._options.config()}


read_only(CoordinateEncoding, "_options", "rank", "channels", *DEFAULTS)
