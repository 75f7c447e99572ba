"""The layers that return the encoding of their input's positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Unpack

import keras

from keras_posenc import _backend, _checks, _door
from keras_posenc._base import REQUIRED, OptionArguments, Shape, shows
from keras_posenc._dtypes import either_policy
from keras_posenc._from_preset import FromPreset
from keras_posenc._grid_layer import GridLayer, read_only
from keras_posenc._hints import hint_at_arguments, warn
from keras_posenc._placing import Placing
from keras_posenc._sinusoidal import DEFAULTS, WaveOptions, unencoded_axes


class GridArguments(OptionArguments, total=False):
    """What layers of grids take beside, for type checkers and editors."""

    grid: Sequence[int | None] | None
    prefix_tokens: int


class FormatArguments(GridArguments, total=False):
    """The same for layers that may have channels first or last."""

    data_format: str


_PLACING = {"data_format": "channels_last", "grid": None, "prefix_tokens": 0}


def warn_of_unencoded_axes(layer: Any, channels: int) -> None:
    axes = unencoded_axes(layer._options, channels)
    if axes:
        named = " and ".join(f"axis {axis}" for axis in axes)
        warn(
            f"{type(layer).__name__} has no channel for {named} of its "
            f"{layer._options.rank}: positions there are not encoded. "
            f"Received: channels={channels}"
        )


@keras.saving.register_keras_serializable(package="keras_posenc")
class PositionalEncoding(FromPreset, GridLayer):
    """Sinusoidal encoding of the positions of a grid of any rank.

    With `P = 2 * ceil(channels / (2 * rank))` channels for each axis, the block of
    axis `a` holds, for `k = 0 .. P/2 - 1` and the position `x_a` along the axis,

        PE(..., a*P + 2*k)     = sin(x_a / max_wavelength**(2*k / P))
        PE(..., a*P + 2*k + 1) = cos(x_a / max_wavelength**(2*k / P))

    and the blocks, one after the other, are cut to `channels`. Positions count from
    0. The numbers are computed in float32 or better under every dtype policy and
    rounded once. Masks pass through. With other options it is the encoding that another
    project has published; each option is independent of the others.

    Dimension 0 is the batch. For inputs `(length, batch, channels)`, as torch has them
    without `batch_first`, add `encode(np.arange(length)[:, None], channels)` instead.

    Args:
        rank: Integer. Number of axes between batch and channels. At least 1.
        channels: Integer or `None`. Channels that the encoding is made for. An input
            with fewer gets the first ones; one with more gets those that there are,
            with a warning. `None` means each input's own number. Defaults to `None`.
        data_format: String, `"channels_last"` or `"channels_first"`. Where the input
            has its channels, whatever `keras.config.image_data_format()` says.
            Defaults to `"channels_last"`.
        grid: List of integers, one size for each axis, or `None`. For inputs that are
            a flat sequence of tokens, `(batch, prefix_tokens + prod(grid), channels)`,
            as a vision transformer has: the grid that they come from, row by row. One
            size may be `None`, and follows from the number of tokens. Defaults to
            `None`.
        prefix_tokens: Integer. Tokens before those of the grid, such as a class token
            or registers, which get zeros. Defaults to `0`.
        max_wavelength: Float, or one float for each axis. The base of the geometric
            series of wavelengths, in units of `2 * pi` positions: the longest wave
            has nearly this length. Positive. Others call it temperature, base or
            theta. Defaults to `10000.0`.
        endpoint: Boolean. Whether the longest wave has exactly that length: with `K`
            frequencies, they are `max_wavelength**(-k / (K - 1))` instead of
            `max_wavelength**(-k / K)`. Defaults to `False`.
        frequencies: List of floats, or one list for each axis, or `None`. The
            frequencies themselves, in radians per unit of the coordinate, in place of
            the two options above. Defaults to `None`.
        layout: String. The order in which axis, frequency and phase (sine, cosine)
            flatten into channels, slowest first: `"interleaved"`, which is
            `"axis freq phase"`; `"concatenated"`, which is `"axis phase freq"`; or
            these three words in another order. Defaults to `"interleaved"`.
        cos_first: Boolean. Whether cosines come before sines. Defaults to `False`.
        axis_order: List of integers or `None`. Which axis fills the first channels,
            which the next, and so on. `None` means their order in the input. Defaults
            to `None`.
        split: List of even integers or `None`. Channels for each axis, in the order
            of the input's axes, adding up to `channels`. `None` means as many for each.
            Defaults to `None`.
        remainder: String. What becomes of channels that do not divide by `2 * rank`:
            `"truncate"` rounds up and cuts, `"pad"` rounds down and puts zeros last,
            `"error"` raises. Defaults to `"truncate"`.
        offset: Float, or one for each axis, in positions. The coordinate of position
            `i` is `scale * (i + offset)`. Defaults to `0.0`.
        scale: Float, or one for each axis. See `offset`. Defaults to `1.0`.
        coordinate_range: Pair of floats `(low, high)` or `None`. Coordinates that
            spread over a range whatever the size `n` of the axis:
            `scale * (low + (high - low) * (i + offset) / (n + eps))`. `offset` and
            `eps` must be below `2**24` then. Defaults to `None`.
        align_corners: Boolean. Whether to divide by `n - 1` there, so that the last
            position has the coordinate `high`; a lone one has `low`. Defaults to
            `False`.
        eps: Float. See `coordinate_range`. Not negative. Defaults to `0.0`.
        **kwargs: Base layer arguments such as `name` and `dtype`. `dtype` takes a
            string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype policy.

    Call arguments:
        inputs: Tensor of shape `(batch, *sizes, channels)`, or
            `(batch, channels, *sizes)` with `data_format="channels_first"`, of any
            dtype. Only its shape matters.
        start_index: Integer, or a tuple with one for each of several axes. The
            position of the first element, as in decoding step by step, or of a tile of
            a larger image. Each may be a scalar tensor, so that one graph serves all.
            For one axis also a vector with one for each element of the batch. May be
            negative. Tensors and arrays must fit the integers of the backend, which on
            JAX have 32 bits. Defaults to `0`.
        positions: Tensor or array of integer or real numbers, or `None`. Positions in
            place of the counted ones: of shape `(x,)` or `(batch, x)` for one axis,
            `(*sizes, rank)` or `(batch, *sizes, rank)` for several, and
            `(tokens, rank)` or `(batch, tokens, rank)` for flat tokens. A batch of one
            goes for all elements. Arrays of float64 keep their digits in eager calls.
            With `coordinate_range` they are coordinates already. Gradients flow to real
            ones. Defaults to `None`.
        grid: As in the constructor, for inputs that are tokens in this call: integers,
            one of which may be `None`, or scalar tensors. Defaults to `None`.

    Returns:
        Tensor of the input's shape, in the layer's compute dtype. It has fewer channels
        if the encoding has fewer.

    Raises:
        TypeError: If an argument has the wrong type, such as `channels="8"`.
        ValueError: If an argument has no valid value, or contradicts another one; when
            called, if the input has another rank, an unknown number of channels, or is
            sparse or ragged, or if `start_index` or `positions` do not fit it.

    Example:
        >>> import numpy as np
        >>> import keras
        >>> from keras_posenc import PositionalEncoding
        >>> video = np.zeros((2, 16, 24, 24, 96))
        >>> keras.ops.shape(PositionalEncoding(rank=3)(video))
        (2, 16, 24, 24, 96)
        >>> patches = np.zeros((2, 1 + 14 * 14, 768))
        >>> mae = PositionalEncoding(
        ...     rank=2, layout="concatenated", axis_order=[1, 0],
        ...     grid=[14, 14], prefix_tokens=1)
        >>> keras.ops.shape(mae(patches))
        (2, 197, 768)

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5 (rank 1).
        - He et al., 2021, arXiv:2111.06377, appendix A (tokens of a grid).
    """

    _known = ("channels", *_PLACING, *DEFAULTS)
    _has_just_warned = False

    @shows(_PLACING | DEFAULTS)
    def __init__(
        self,
        rank: int = REQUIRED,
        channels: int | None = None,
        **kwargs: Unpack[FormatArguments],
    ):
        base: dict[str, Any] = dict(kwargs)
        if rank is REQUIRED:
            raise TypeError(
                f"{type(self).__name__} needs `rank`, the number of axes, which "
                "PositionalEncoding1D, 2D and 3D have in their names."
                f"{hint_at_arguments(base, self._known)} "
                f"Received: {_checks.shown(base)}"
            )
        options = {name: base.pop(name) for name in DEFAULTS if name in base}
        place = {k: base.pop(k, default) for k, default in _PLACING.items()}
        super().__init__(**base)
        rank = _checks.grid_rank(
            "rank", rank, hint="; `channels` are the second argument"
        )
        self._options = WaveOptions(rank, channels, **options)
        formats = ("channels_last", "channels_first")
        self._placing = Placing(
            rank,
            _checks.one_of("data_format", place["data_format"], formats),
            _checked_grid(place["grid"], rank),
            _checks.non_negative_integer("prefix_tokens", place["prefix_tokens"]),
        )
        if self._options.channels is not None:
            warn_of_unencoded_axes(self, self._options.channels)

    @property
    def org_channels(self) -> int | None:
        """`channels`, by the name that `positional-encodings` has for it."""
        return self._options.channels

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        shape, given = tuple(input_shape), self._options.channels
        placing = self._placing.for_call(shape, None, grid=())
        channels = placing.channels(shape)
        encoded = self._options.encoded_channels(channels)
        if encoded < channels:
            self._warn_of_missing_channels(shape, encoded)
            self._has_just_warned = True
        elif given is None:
            warn_of_unencoded_axes(self, channels)
        elif channels < given:
            elsewhere = _channels_elsewhere(placing, shape, given)
            if elsewhere:
                warn(
                    f"{type(self).__name__} with channels={given} found {channels} "
                    f"channels in dimension {placing.channel_dim}, {elsewhere}. "
                    f"Received: inputs of shape {shape}"
                )

    def call(
        self,
        inputs: Any,
        start_index: Any = 0,
        positions: Any = None,
        grid: Any = None,
    ) -> Any:
        encoding = self._encoding(inputs, start_index, positions, grid)
        return _backend.over_batch(encoding, inputs, cached=positions is None)

    def _broadcast_output(self, inputs: Any, **places: Any) -> Any | None:
        if not _door.call_is_plain(self):
            return None
        return self._encoding(inputs, **places, whole=True)

    def compute_output_shape(self, input_shape: Any) -> Shape:
        shape = super().compute_output_shape(input_shape)
        placing = self._placing.for_call(shape, None, grid=())
        channels = self._options.encoded_channels(placing.channels(shape))
        return placing.with_channels(shape, channels)

    def get_config(self) -> dict[str, Any]:
        grid = self._placing.grid
        return {
            **super().get_config(),
            **self._options.config(),
            **{name: getattr(self._placing, name) for name in _PLACING},
            "grid": None if grid is None else list(grid),
        }

    def _warn_of_missing_channels(self, shape: Shape, encoded: int) -> None:
        # A call that builds the layer, or comes next, does not warn again.
        if self._has_just_warned:
            self._has_just_warned = False
            return
        # Without the sizes: one text for all lengths, which Python shows once.
        placing, given = self._placing.for_call(shape, None, ()), self._options.channels
        elsewhere = _channels_elsewhere(placing, shape, given)
        warn(
            f"{type(self).__name__} with channels={given} makes {encoded} channels, "
            "which are all that the encoding has. "
            f"Received: inputs of {placing.channels(shape)} channels"
            f"{f', {elsewhere}' if elsewhere else ''}"
        )


read_only(PositionalEncoding, "_options", "rank", "channels", *DEFAULTS)
read_only(PositionalEncoding, "_placing", *_PLACING)


def _checked_grid(grid: Any, rank: int) -> tuple[int | None, ...] | None:
    def parse(grid: Any) -> tuple[int | None, ...]:
        sizes = tuple(
            None if size is None else _checks.index(size)
            for size in _checks.sequence(grid)
        )
        _checks.require(len(sizes) == rank and sizes.count(None) <= 1)
        # No table has more positions: `_checks.require_room` refuses it.
        _checks.require(all(size is None or 0 < size < 2**40 for size in sizes))
        return sizes

    if grid is None:
        return None
    kind = f"a list of positive sizes, one for each of the {rank} axes, or None"
    return _checks.expect("grid", grid, kind, parse)


def _channels_elsewhere(placing: Placing, shape: Shape, given: int | None) -> str:
    """Where inputs have the channels of the constructor, if not where they should."""
    other = placing.ndim - 1 if placing.channel_dim == 1 else 1
    if given is None or shape[other] != given:
        return ""
    name = "channels_first" if other == 1 else "channels_last"
    return f"and {given} in dimension {other}, which data_format={name!r} is for"


class _FixedRank(PositionalEncoding):
    """`PositionalEncoding` whose class says the rank, so that no argument does."""

    _rank: ClassVar[int]
    _family: ClassVar[str] = "PositionalEncoding"

    @shows(_PLACING | DEFAULTS)
    def __init__(
        self,
        channels: int | None = None,
        dtype_override: Any = None,
        **kwargs: Unpack[FormatArguments],
    ):
        kwargs["dtype"] = either_policy(kwargs.get("dtype"), dtype_override)
        super().__init__(self._rank, channels, **kwargs)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["rank"]
        return config


class _FixedChannelsFirst(_FixedRank):
    """The same with channels first, whatever `keras.config.image_data_format()`."""

    _family: ClassVar[str] = "PositionalEncodingPermute"

    @shows({"grid": None, "prefix_tokens": 0} | DEFAULTS)
    def __init__(
        self,
        channels: int | None = None,
        dtype_override: Any = None,
        **kwargs: Unpack[GridArguments],
    ):
        given: dict[str, Any] = {"data_format": "channels_first", **kwargs}
        if "data_format" in kwargs:
            raise TypeError(
                f"{type(self).__name__} has `data_format` fixed to 'channels_first'. "
                f"Received: data_format={_checks.shown(given['data_format'])}"
            )
        super().__init__(channels, dtype_override, **given)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["data_format"]
        return config


@keras.saving.register_keras_serializable(package="keras_posenc")
class PositionalEncoding1D(_FixedRank):
    """Sinusoidal encoding of the positions of a sequence.

    With `P` the number of channels, rounded up to an even number, for position `x`
    and `i = 0 .. P/2 - 1`,

        PE(x, 2*i)     = sin(x / max_wavelength**(2*i / P))
        PE(x, 2*i + 1) = cos(x / max_wavelength**(2*i / P))

    cut to the number of channels. Precision and masks: as `PositionalEncoding`.

    Args:
        channels: Integer or `None`. Channels that the encoding is made for. `None`
            means each input's own number. Defaults to `None`.
        dtype_override: Another name of `dtype`, for code that was written for
            `positional-encodings`. Defaults to `None`.
        **kwargs: The options of `PositionalEncoding`, which explains them, and base
            layer arguments such as `name` and `dtype`.

    Call arguments:
        inputs: Tensor of shape `(batch, x, channels)`, of any dtype.
            Only its shape matters.
        start_index, positions, grid: As in `PositionalEncoding`.

    Returns:
        Tensor of the input's shape, in the layer's compute dtype. It has fewer channels
        if the encoding has fewer.

    Raises:
        TypeError, ValueError: As `PositionalEncoding`.

    Example:
        >>> import numpy as np
        >>> import keras
        >>> from keras_posenc import PositionalEncoding1D
        >>> encoding = PositionalEncoding1D(10)(np.zeros((1, 6, 10)))
        >>> keras.ops.shape(encoding)
        (1, 6, 10)
        >>> print(keras.ops.convert_to_numpy(encoding)[0, 1, :2].round(4))
        [0.8415 0.5403]

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5.
    """

    _rank = 1


@keras.saving.register_keras_serializable(package="keras_posenc")
class PositionalEncoding2D(_FixedRank):
    """Sinusoidal encoding of the positions of a plane, such as an image.

    With `P = 2 * ceil(channels / 4)` channels for each axis, for position `(x, y)` and
    `i = 0 .. P/2 - 1`,

        PE(x, y, 2*i)         = sin(x / max_wavelength**(2*i / P))
        PE(x, y, 2*i + 1)     = cos(x / max_wavelength**(2*i / P))
        PE(x, y, P + 2*i)     = sin(y / max_wavelength**(2*i / P))
        PE(x, y, P + 2*i + 1) = cos(y / max_wavelength**(2*i / P))

    cut to the number of channels. Precision and masks: as `PositionalEncoding`.

    Args:
        channels: Integer or `None`. Channels that the encoding is made for. `None`
            means each input's own number. Defaults to `None`.
        dtype_override: Another name of `dtype`, for code that was written for
            `positional-encodings`. Defaults to `None`.
        **kwargs: The options of `PositionalEncoding`, which explains them, and base
            layer arguments such as `name` and `dtype`.

    Call arguments:
        inputs: Tensor of shape `(batch, x, y, channels)`, of any dtype.
            Only its shape matters.
        start_index, positions, grid: As in `PositionalEncoding`.

    Returns:
        Tensor of the input's shape, in the layer's compute dtype. It has fewer channels
        if the encoding has fewer.

    Raises:
        TypeError, ValueError: As `PositionalEncoding`.

    Example:
        >>> import numpy as np
        >>> import keras
        >>> from keras_posenc import PositionalEncoding2D
        >>> encoding = PositionalEncoding2D(8)(np.zeros((1, 6, 2, 8)))
        >>> keras.ops.shape(encoding)
        (1, 6, 2, 8)

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5, for one axis.
        - Wang and Liu, 2019, arXiv:1908.11415, for channels split among axes.
    """

    _rank = 2


@keras.saving.register_keras_serializable(package="keras_posenc")
class PositionalEncoding3D(_FixedRank):
    """Sinusoidal encoding of the positions of a volume or a video.

    With `P = 2 * ceil(channels / 6)` channels for each axis, in blocks one after the
    other as in `PositionalEncoding2D`, for position `(x, y, z)` and
    `i = 0 .. P/2 - 1`,

        PE(x, y, z, 2*i)       = sin(x / max_wavelength**(2*i / P))
        PE(x, y, z, P + 2*i)   = sin(y / max_wavelength**(2*i / P))
        PE(x, y, z, 2*P + 2*i) = sin(z / max_wavelength**(2*i / P))

    each followed by its cosine, cut to the number of channels. Precision and masks: as
    `PositionalEncoding`.

    Args:
        channels: Integer or `None`. Channels that the encoding is made for. `None`
            means each input's own number. Defaults to `None`.
        dtype_override: Another name of `dtype`, for code that was written for
            `positional-encodings`. Defaults to `None`.
        **kwargs: The options of `PositionalEncoding`, which explains them, and base
            layer arguments such as `name` and `dtype`.

    Call arguments:
        inputs: Tensor of shape `(batch, x, y, z, channels)`, of any dtype.
            Only its shape matters.
        start_index, positions, grid: As in `PositionalEncoding`.

    Returns:
        Tensor of the input's shape, in the layer's compute dtype. It has fewer channels
        if the encoding has fewer.

    Raises:
        TypeError, ValueError: As `PositionalEncoding`.

    Example:
        >>> import numpy as np
        >>> import keras
        >>> from keras_posenc import PositionalEncoding3D
        >>> encoding = PositionalEncoding3D(11)(np.zeros((1, 5, 6, 4, 11)))
        >>> keras.ops.shape(encoding)
        (1, 5, 6, 4, 11)

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5, for one axis.
        - Wang and Liu, 2019, arXiv:1908.11415, for channels split among axes.
    """

    _rank = 3


@keras.saving.register_keras_serializable(package="keras_posenc")
class PositionalEncodingPermute1D(_FixedChannelsFirst):
    """`PositionalEncoding1D` for a sequence that has channels first.

    The numbers of `PositionalEncoding1D`, in `(batch, channels, x)`, whatever
    `keras.config.image_data_format()` says.

    Args:
        channels: Integer or `None`. Channels that the encoding is made for. `None`
            means each input's own number. Defaults to `None`.
        dtype_override: Another name of `dtype`, for code that was written for
            `positional-encodings`. Defaults to `None`.
        **kwargs: The options of `PositionalEncoding` but for `data_format`, and base
            layer arguments such as `name` and `dtype`.

    Call arguments:
        inputs: Tensor of shape `(batch, channels, x)`, of any dtype.
            Only its shape matters.
        start_index, positions, grid: As in `PositionalEncoding`.

    Returns:
        Tensor of the input's shape, in the layer's compute dtype. It has fewer channels
        if the encoding has fewer.

    Raises:
        TypeError, ValueError: As `PositionalEncoding`.

    Example:
        >>> import numpy as np
        >>> import keras
        >>> from keras_posenc import PositionalEncodingPermute1D
        >>> encoding = PositionalEncodingPermute1D(10)(np.zeros((1, 10, 6)))
        >>> keras.ops.shape(encoding)
        (1, 10, 6)

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5.
    """

    _rank = 1


@keras.saving.register_keras_serializable(package="keras_posenc")
class PositionalEncodingPermute2D(_FixedChannelsFirst):
    """`PositionalEncoding2D` for a plane that has channels first.

    The numbers of `PositionalEncoding2D`, in `(batch, channels, x, y)`, whatever
    `keras.config.image_data_format()` says.

    Args:
        channels: Integer or `None`. Channels that the encoding is made for. `None`
            means each input's own number. Defaults to `None`.
        dtype_override: Another name of `dtype`, for code that was written for
            `positional-encodings`. Defaults to `None`.
        **kwargs: The options of `PositionalEncoding` but for `data_format`, and base
            layer arguments such as `name` and `dtype`.

    Call arguments:
        inputs: Tensor of shape `(batch, channels, x, y)`, of any dtype.
            Only its shape matters.
        start_index, positions, grid: As in `PositionalEncoding`.

    Returns:
        Tensor of the input's shape, in the layer's compute dtype. It has fewer channels
        if the encoding has fewer.

    Raises:
        TypeError, ValueError: As `PositionalEncoding`.

    Example:
        >>> import numpy as np
        >>> import keras
        >>> from keras_posenc import PositionalEncodingPermute2D
        >>> encoding = PositionalEncodingPermute2D(8)(np.zeros((1, 8, 6, 2)))
        >>> keras.ops.shape(encoding)
        (1, 8, 6, 2)

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5, for one axis.
        - Wang and Liu, 2019, arXiv:1908.11415, for channels split among axes.
    """

    _rank = 2


@keras.saving.register_keras_serializable(package="keras_posenc")
class PositionalEncodingPermute3D(_FixedChannelsFirst):
    """`PositionalEncoding3D` for a volume that has channels first.

    The numbers of `PositionalEncoding3D`, in `(batch, channels, x, y, z)`, whatever
    `keras.config.image_data_format()` says.

    Args:
        channels: Integer or `None`. Channels that the encoding is made for. `None`
            means each input's own number. Defaults to `None`.
        dtype_override: Another name of `dtype`, for code that was written for
            `positional-encodings`. Defaults to `None`.
        **kwargs: The options of `PositionalEncoding` but for `data_format`, and base
            layer arguments such as `name` and `dtype`.

    Call arguments:
        inputs: Tensor of shape `(batch, channels, x, y, z)`, of any dtype.
            Only its shape matters.
        start_index, positions, grid: As in `PositionalEncoding`.

    Returns:
        Tensor of the input's shape, in the layer's compute dtype. It has fewer channels
        if the encoding has fewer.

    Raises:
        TypeError, ValueError: As `PositionalEncoding`.

    Example:
        >>> import numpy as np
        >>> import keras
        >>> from keras_posenc import PositionalEncodingPermute3D
        >>> encoding = PositionalEncodingPermute3D(11)(np.zeros((1, 11, 5, 6, 4)))
        >>> keras.ops.shape(encoding)
        (1, 11, 5, 6, 4)

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5, for one axis.
        - Wang and Liu, 2019, arXiv:1908.11415, for channels split among axes.
    """

    _rank = 3
