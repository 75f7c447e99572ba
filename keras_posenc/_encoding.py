"""The layers that return the encoding of their input's positions."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, ClassVar, Unpack

import keras
from keras import ops

from keras_posenc import _backend
from keras_posenc._arguments import (
    grid_of_tokens,
    grid_rank,
    non_negative_integer,
    one_of,
)
from keras_posenc._evaluate import (
    Starts,
    Tokens,
    encode_grid,
    encode_positions,
    kept_encoding,
)
from keras_posenc._layer import (
    EncodingLayer,
    LayerArguments,
    Shape,
    dims_error,
    has_dims,
    warn,
)
from keras_posenc._options import OPTION_NAMES, WaveArguments, WaveOptions
from keras_posenc._positions import checked_positions, checked_starts, is_zero
from keras_posenc._presets import FromPreset
from keras_posenc._waves import Waves


class OptionArguments(WaveArguments, LayerArguments, total=False):
    """Wave options and base layer arguments, for type checkers and editors."""


class EncodingArguments(OptionArguments, total=False):
    """The same for layers of grids."""

    grid: Sequence[int] | None
    prefix_tokens: int


def encoding_at(
    inputs: Any,
    options: WaveOptions,
    channel_dim: int,
    dtypes: tuple[str, ...],
    channels: int,
    start_index: Any,
    positions: Any,
    tokens: Tokens | None = None,
) -> Any:
    """The encoding of `inputs`, where the arguments of `call` say that they are."""
    shape = tuple(inputs.shape)
    starts, positions = checked_where(
        shape, options, channel_dim, start_index, positions, tokens
    )
    if positions is None:
        how = (options, channel_dim, dtypes, channels)
        encoding = encode_grid(inputs, *how, starts, tokens)
    else:
        encoding = encode_positions(positions, options, channels, dtypes, like=inputs)
        if channel_dim == 1:
            encoding = ops.moveaxis(encoding, -1, 1)
    if None in shape and (starts or positions is not None):
        return _seen_to_fit(encoding, inputs, channel_dim)
    return encoding


def _seen_to_fit(encoding: Any, inputs: Any, channel_dim: int) -> Any:
    """`encoding`, for which TensorFlow's running graph makes sure of the sizes.

    Only it knows those of `inputs` and of what was given for them. Where they differ,
    it would broadcast one over the other.
    """
    sizes = list(_backend.shape(inputs))
    sizes[channel_dim] = encoding.shape[channel_dim]
    if encoding.shape[0] == 1:
        sizes[0] = 1
    return ops.reshape(encoding, sizes)


def warn_of_silent_axes(layer: EncodingLayer, channels: int) -> None:
    for axis in Waves(layer._options, channels).silent_axes():
        warn(
            f"{type(layer).__name__} has no channel for axis {axis} of its "
            f"{layer._options.rank}: positions along it are not encoded. "
            f"Received: channels={channels}"
        )


def checked_where(
    shape: Shape,
    options: WaveOptions,
    channel_dim: int,
    start_index: Any,
    positions: Any,
    tokens: Tokens | None = None,
) -> tuple[Starts, Any]:
    """Where the positions of inputs of `shape` start, or the positions themselves."""
    batch, *sizes = (size for dim, size in enumerate(shape) if dim != channel_dim)
    if positions is None:
        starts = checked_starts(start_index, options.rank, batch)
        if starts and options.coordinate_range is not None:
            raise ValueError(
                "`start_index` must be 0 with `coordinate_range`, which spreads over "
                "the size of the input: give `positions` instead. "
                f"Received: start_index={start_index!r}"
            )
        return starts, None
    if not is_zero(start_index):
        raise ValueError(
            "`start_index` must be 0 beside `positions`, which say where everything "
            f"is. Received: start_index={start_index!r}"
        )
    if tokens is not None:
        raise ValueError(
            "`positions` must be None with `grid`, which says where the tokens are. "
            f"Received: positions={positions!r}"
        )
    return (), checked_positions(positions, tuple(sizes), batch)


@keras.saving.register_keras_serializable(package="keras_posenc")
class PositionalEncoding(FromPreset, EncodingLayer):
    """Sinusoidal encoding of the positions of a grid of any rank.

    With `P = 2 * ceil(channels / (2 * rank))` channels for each axis, the block of
    axis `a` holds, for `k = 0 .. P/2 - 1` and the position `x_a` along the axis,

        PE(..., a*P + 2*k)     = sin(x_a / max_wavelength**(2*k / P))
        PE(..., a*P + 2*k + 1) = cos(x_a / max_wavelength**(2*k / P))

    and the blocks, one after the other, are cut to `channels`. Positions count from
    0. The numbers are computed in float32 or better under every dtype policy and
    rounded once. Masks pass through. The options make of it the encoding that another
    project has published; each is independent of the others.

    Args:
        rank: Integer. Number of axes between batch and channels. At least 1.
        channels: Integer or `None`. Channels that the encoding is made for. An input
            with fewer gets the first ones; one with more gets those that there are,
            with a warning. `None` means each input's own number. Defaults to `None`.
        dtype_override: Another name of `dtype`. Defaults to `None`.
        data_format: String, `"channels_last"` or `"channels_first"`. Where the input
            has its channels. Defaults to `"channels_last"`.
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
            `scale * (low + (high - low) * (i + offset) / (n + eps))`. Where only the
            running graph knows `n`, `offset` and `eps` must be below `2**24`.
            Defaults to `None`.
        align_corners: Boolean. Whether to divide by `n - 1` there, so that the last
            position has the coordinate `high`; a lone one has `low`. Defaults to
            `False`.
        eps: Float. See `coordinate_range`. Not negative. Defaults to `0.0`.
        grid: List of integers, one size for each axis, or `None`. For inputs that are
            a flat sequence of tokens, `(batch, prefix_tokens + prod(grid), channels)`,
            as a vision transformer has: the grid that they come from, row by row.
            That there are as many tokens is checked where their number is known
            before the graph runs. Defaults to `None`.
        prefix_tokens: Integer. Tokens before those of the grid, such as a class token
            or registers, which get zeros. Defaults to `0`.
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
            negative. What is no plain integer must fit the integers of the backend,
            which on JAX have 32 bits. Defaults to `0`.
        positions: Tensor or array of integer or real numbers, or `None`. Positions in
            place of the counted ones: of shape `(x,)` or `(batch, x)` for one axis,
            `(*sizes, rank)` or `(batch, *sizes, rank)` for several. Arrays of float64
            keep their digits in eager calls. With `coordinate_range` they are
            coordinates already. Gradients flow to real ones. Defaults to `None`.

    Returns:
        Tensor of the input's shape, but for channels that there are not, in the
        layer's compute dtype.

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

    _known = ("channels", "data_format", *EncodingArguments.__annotations__)

    def __init__(
        self,
        rank: int,
        channels: int | None = None,
        dtype_override: Any = None,
        *,
        data_format: str = "channels_last",
        **kwargs: Unpack[EncodingArguments],
    ):
        base: dict[str, Any] = dict(kwargs)
        grid, prefix_tokens = base.pop("grid", None), base.pop("prefix_tokens", 0)
        options = {name: base.pop(name) for name in OPTION_NAMES if name in base}
        super().__init__(dtype_override=dtype_override, **base)
        self.data_format = one_of(
            "data_format", data_format, ("channels_last", "channels_first")
        )
        rank = grid_rank("rank", rank, hint="; `channels` are the second argument")
        self.set_options(WaveOptions(rank, channels, **options))
        self.grid = grid_of_tokens("grid", grid, self._options.rank)
        self.prefix_tokens = non_negative_integer("prefix_tokens", prefix_tokens)
        if self.grid is None and self.prefix_tokens:
            raise ValueError(
                "`prefix_tokens` must be 0 without `grid`, the grid that they come "
                f"before. Received: prefix_tokens={prefix_tokens!r}"
            )
        self._tokens = None if self.grid is None else (self.grid, self.prefix_tokens)
        self._ndim = 3 if self._tokens else self._options.rank + 2
        first = self.data_format == "channels_first"
        self.channel_dim = 1 if first else self._ndim - 1
        self.org_channels = self._options.channels  # as in `positional-encodings`
        if self._options.channels is not None:
            warn_of_silent_axes(self, self._options.channels)

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        given, channels = self._options.channels, self._input_channels(input_shape)
        if given is None:
            warn_of_silent_axes(self, channels)
        elif channels < given:
            self._warn_of_channels_elsewhere(tuple(input_shape))

    def call(self, inputs: Any, start_index: Any = 0, positions: Any = None) -> Any:
        dtype, where = self.available_dtype, (start_index, positions)
        encoding = self.kept_encoding(inputs, dtype, *where)
        if encoding is None:
            self.check_inputs(inputs)
            if self.lacks_channels(inputs.shape):
                self._warn_of_missing_channels(inputs.shape)
            encoding = self.new_encoding(inputs, dtype, *where)
        return _backend.over_batch(encoding, inputs)

    def kept_encoding(
        self, inputs: Any, dtype: str, start_index: Any, positions: Any
    ) -> Any | None:
        """What `new_encoding` has made before. None unless `inputs` fit, and eager."""
        if positions is not None or not is_zero(start_index):
            return None
        dtypes = (self.available_dtype, dtype)
        return kept_encoding(
            inputs, self._options, self.channel_dim, dtypes, self._tokens
        )

    def new_encoding(
        self, inputs: Any, dtype: str, start_index: Any, positions: Any
    ) -> Any:
        """The encoding of `inputs`, which fit, with a batch of one or with theirs.

        It is rounded to the dtype of this layer, then to `dtype`.
        """
        channels = self._waves(inputs.shape).channels
        dtypes = (self.available_dtype, dtype)
        how = (self._options, self.channel_dim, dtypes, channels)
        return encoding_at(inputs, *how, start_index, positions, self._tokens)

    def lacks_channels(self, shape: Shape) -> bool:
        """Whether inputs of `shape`, which fits, have more channels than there are."""
        channels = self._options.channels
        if channels is None or self._input_channels(shape) <= channels:
            return False
        return self._waves(shape).channels < self._input_channels(shape)

    def compute_output_shape(self, input_shape: Any) -> Shape:
        shape = super().compute_output_shape(input_shape)
        if self.lacks_channels(shape):
            self._warn_of_missing_channels(shape)
        return self.encoded_shape(shape)

    def encoded_shape(self, shape: Shape) -> Shape:
        """The shape of the encoding of inputs of `shape`, which fits."""
        before, after = shape[: self.channel_dim], shape[self.channel_dim + 1 :]
        return (*before, self._waves(shape).channels, *after)

    def check_shape(self, shape: Shape) -> None:
        if not has_dims(shape, self._ndim, self.channel_dim):
            raise dims_error(self, shape, self._ndim, self._expected_shape())
        if self._options.channels is None:
            self._options.require_channels(self._input_channels(shape))
        if self._tokens is not None:
            found = shape[3 - self.channel_dim]
            tokens = self.prefix_tokens + math.prod(self._tokens[0])
            if type(found) is int and found != tokens:
                raise ValueError(
                    f"{type(self).__name__} expects {tokens} tokens, found {found}: "
                    f"prefix_tokens={self.prefix_tokens} and grid={self.grid}. "
                    f"Received: inputs of shape {shape}"
                )

    def check_where(self, shape: Shape, start_index: Any, positions: Any) -> None:
        checked_where(
            shape,
            self._options,
            self.channel_dim,
            start_index,
            positions,
            self._tokens,
        )

    def _expected_shape(self) -> str:
        rank = self._options.rank
        if self._tokens is not None:
            sizes = "tokens"
        else:
            sizes = ", ".join("xyz"[:rank]) if rank <= 3 else f"{rank} sizes"
        if self.data_format == "channels_last":
            return f"(batch, {sizes}, channels)"
        return f"(batch, channels, {sizes})"

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            **self._options.config(),
            "data_format": self.data_format,
            **({} if self.grid is None else {"grid": list(self.grid)}),
            **({"prefix_tokens": self.prefix_tokens} if self.prefix_tokens else {}),
        }

    def _waves(self, shape: Shape) -> Waves:
        return Waves(self._options, self._input_channels(shape))

    def _input_channels(self, shape: Shape) -> int:
        # `check_shape` refuses None. `index` makes a number of what torch.compile may
        # keep open.
        return operator.index(shape[self.channel_dim])  # type: ignore[arg-type]

    def _warn_of_channels_elsewhere(self, shape: Shape) -> None:
        """Warns where inputs have the channels of the constructor, but elsewhere."""
        elsewhere = self._channels_elsewhere(shape)
        if elsewhere:
            warn(
                f"{type(self).__name__} with channels={self._options.channels} found "
                f"{shape[self.channel_dim]} channels in dimension {self.channel_dim}, "
                f"{elsewhere}. Received: inputs of shape {shape}"
            )

    def _channels_elsewhere(self, shape: Shape) -> str:
        other = self._ndim - 1 if self.channel_dim == 1 else 1
        given = self._options.channels
        if given is None or shape[other] != given:
            return ""
        name = "channels_first" if other == 1 else "channels_last"
        return f"and {given} in dimension {other}, which data_format={name!r} is for"

    def _warn_of_missing_channels(self, shape: Shape) -> None:
        # Without the sizes: one text for all lengths, which Python shows once.
        elsewhere = self._channels_elsewhere(shape)
        warn(
            f"{type(self).__name__} with channels={self._options.channels} makes "
            f"{self._waves(shape).channels} channels, which are all that the encoding "
            f"has. Received: inputs of {self._input_channels(shape)} channels"
            f"{f', {elsewhere}' if elsewhere else ''}"
        )


class _FixedRank(PositionalEncoding):
    """`PositionalEncoding` whose class says the rank, so that no argument does."""

    _rank: ClassVar[int]
    _family: ClassVar[str] = "PositionalEncoding"

    def __init__(
        self,
        channels: int | None = None,
        dtype_override: Any = None,
        *,
        data_format: str = "channels_last",
        **kwargs: Unpack[EncodingArguments],
    ):
        super().__init__(
            self._rank, channels, dtype_override, data_format=data_format, **kwargs
        )

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["rank"]
        return config


class _FixedChannelsFirst(_FixedRank):
    """The same with channels first, whatever `keras.config.image_data_format()`."""

    _family: ClassVar[str] = "PositionalEncodingPermute"

    def __init__(
        self,
        channels: int | None = None,
        dtype_override: Any = None,
        **kwargs: Unpack[EncodingArguments],
    ):
        arguments: dict[str, Any] = dict(kwargs)
        if "data_format" in arguments:
            raise TypeError(
                f"{type(self).__name__} has `data_format` fixed to 'channels_first'. "
                f"Received: data_format={arguments['data_format']!r}"
            )
        super().__init__(
            channels, dtype_override, data_format="channels_first", **kwargs
        )

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

    cut to the number of channels. Positions count from 0. The numbers are computed
    in float32 or better under every dtype policy and rounded once. Masks pass through.

    Args:
        channels: Integer or `None`. Channels that the encoding is made for. An input
            with fewer gets the first ones; one with more gets the `P` that there
            are, with a warning. `None` means each input's own number. Defaults to
            `None`.
        dtype_override: Another name of `dtype`. Defaults to `None`.
        data_format: String, `"channels_last"` or `"channels_first"`. Where the input
            has its channels. Defaults to `"channels_last"`.
        max_wavelength: Float. The base of the geometric series of wavelengths, in
            units of `2 * pi` positions. Positive. Defaults to `10000.0`.
        **kwargs: The other options of `PositionalEncoding`: `endpoint`, `frequencies`,
            `layout`, `cos_first`, `axis_order`, `split`, `remainder`, `offset`,
            `scale`, `coordinate_range`, `align_corners`, `eps`, `grid` and
            `prefix_tokens`; and base layer arguments such as `name` and `dtype`.
            `dtype` takes a string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype
            policy.

    Call arguments:
        inputs: Tensor of shape `(batch, x, channels)`, or `(batch, channels, x)`
            with `data_format="channels_first"`, of any dtype. Only its shape matters.
        start_index, positions: Where positions start to count, or the positions
            themselves, as in `PositionalEncoding`.

    Returns:
        Tensor of the input's shape, but for channels that there are not, in the
        layer's compute dtype.

    Raises:
        TypeError: If `channels` is no integer, or `max_wavelength` no number.
        ValueError: If an argument has no valid value; when called, if the input
            has another rank, has an unknown number of channels, or is sparse or ragged.

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

    cut to the number of channels. Positions count from 0. The numbers are computed
    in float32 or better under every dtype policy and rounded once. Masks pass through.

    Args:
        channels: Integer or `None`. Channels that the encoding is made for. An input
            with fewer gets the first ones; one with more gets the `2 * P` that there
            are, with a warning. `None` means each input's own number. Defaults to
            `None`.
        dtype_override: Another name of `dtype`. Defaults to `None`.
        data_format: String, `"channels_last"` or `"channels_first"`. Where the input
            has its channels. Defaults to `"channels_last"`.
        max_wavelength: Float, or one float for each axis. The base of the geometric
            series of wavelengths, in units of `2 * pi` positions. Positive.
            Defaults to `10000.0`.
        **kwargs: The other options of `PositionalEncoding`: `endpoint`, `frequencies`,
            `layout`, `cos_first`, `axis_order`, `split`, `remainder`, `offset`,
            `scale`, `coordinate_range`, `align_corners`, `eps`, `grid` and
            `prefix_tokens`; and base layer arguments such as `name` and `dtype`.
            `dtype` takes a string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype
            policy.

    Call arguments:
        inputs: Tensor of shape `(batch, x, y, channels)`, or `(batch, channels, x, y)`
            with `data_format="channels_first"`, of any dtype. Only its shape matters.
        start_index, positions: Where positions start to count, or the positions
            themselves, as in `PositionalEncoding`.

    Returns:
        Tensor of the input's shape, but for channels that there are not, in the
        layer's compute dtype.

    Raises:
        TypeError: If `channels` is no integer, or `max_wavelength` no number.
        ValueError: If an argument has no valid value; when called, if the input
            has another rank, has an unknown number of channels, or is sparse or ragged.

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

    With `P = 2 * ceil(channels / 6)` channels for each axis, for position `(x, y, z)`
    and `i = 0 .. P/2 - 1`,

        PE(x, y, z, 2*i)           = sin(x / max_wavelength**(2*i / P))
        PE(x, y, z, 2*i + 1)       = cos(x / max_wavelength**(2*i / P))
        PE(x, y, z, P + 2*i)       = sin(y / max_wavelength**(2*i / P))
        PE(x, y, z, P + 2*i + 1)   = cos(y / max_wavelength**(2*i / P))
        PE(x, y, z, 2*P + 2*i)     = sin(z / max_wavelength**(2*i / P))
        PE(x, y, z, 2*P + 2*i + 1) = cos(z / max_wavelength**(2*i / P))

    cut to the number of channels. Positions count from 0. The numbers are computed
    in float32 or better under every dtype policy and rounded once. Masks pass through.

    Args:
        channels: Integer or `None`. Channels that the encoding is made for. An input
            with fewer gets the first ones; one with more gets the `3 * P` that there
            are, with a warning. `None` means each input's own number. Defaults to
            `None`.
        dtype_override: Another name of `dtype`. Defaults to `None`.
        data_format: String, `"channels_last"` or `"channels_first"`. Where the input
            has its channels. Defaults to `"channels_last"`.
        max_wavelength: Float, or one float for each axis. The base of the geometric
            series of wavelengths, in units of `2 * pi` positions. Positive.
            Defaults to `10000.0`.
        **kwargs: The other options of `PositionalEncoding`: `endpoint`, `frequencies`,
            `layout`, `cos_first`, `axis_order`, `split`, `remainder`, `offset`,
            `scale`, `coordinate_range`, `align_corners`, `eps`, `grid` and
            `prefix_tokens`; and base layer arguments such as `name` and `dtype`.
            `dtype` takes a string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype
            policy.

    Call arguments:
        inputs: Tensor of shape `(batch, x, y, z, channels)`, or
            `(batch, channels, x, y, z)` with `data_format="channels_first"`, of any
            dtype. Only its shape matters.
        start_index, positions: Where positions start to count, or the positions
            themselves, as in `PositionalEncoding`.

    Returns:
        Tensor of the input's shape, but for channels that there are not, in the
        layer's compute dtype.

    Raises:
        TypeError: If `channels` is no integer, or `max_wavelength` no number.
        ValueError: If an argument has no valid value; when called, if the input
            has another rank, has an unknown number of channels, or is sparse or ragged.

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
    """Sinusoidal encoding of the positions of a sequence, channels first.

    With `P` the number of channels, rounded up to an even number, for position `x`
    and `i = 0 .. P/2 - 1`,

        PE(2*i, x)     = sin(x / max_wavelength**(2*i / P))
        PE(2*i + 1, x) = cos(x / max_wavelength**(2*i / P))

    cut to the number of channels: the numbers of `PositionalEncoding1D`, with the
    channels first whatever `keras.config.image_data_format()` says. Positions count
    from 0. The numbers are computed in float32 or better under every dtype policy
    and rounded once. Masks pass through.

    Args:
        channels: Integer or `None`. Channels that the encoding is made for. An input
            with fewer gets the first ones; one with more gets the `P` that there
            are, with a warning. `None` means each input's own number. Defaults to
            `None`.
        dtype_override: Another name of `dtype`. Defaults to `None`.
        max_wavelength: Float. The base of the geometric series of wavelengths, in
            units of `2 * pi` positions. Positive. Defaults to `10000.0`.
        **kwargs: The other options of `PositionalEncoding`: `endpoint`, `frequencies`,
            `layout`, `cos_first`, `axis_order`, `split`, `remainder`, `offset`,
            `scale`, `coordinate_range`, `align_corners`, `eps`, `grid` and
            `prefix_tokens`; and base layer arguments such as `name` and `dtype`.
            `dtype` takes a string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype
            policy.

    Call arguments:
        inputs: Tensor of shape `(batch, channels, x)`, of any dtype. Only its
            shape matters.
        start_index, positions: Where positions start to count, or the positions
            themselves, as in `PositionalEncoding`.

    Returns:
        Tensor of the input's shape, but for channels that there are not, in the
        layer's compute dtype.

    Raises:
        TypeError: If `channels` is no integer, or `max_wavelength` no number.
        ValueError: If an argument has no valid value; when called, if the input
            has another rank, has an unknown number of channels, or is sparse or ragged.

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
    """Sinusoidal encoding of the positions of a plane, channels first.

    With `P = 2 * ceil(channels / 4)` channels for each axis, for position `(x, y)` and
    `i = 0 .. P/2 - 1`,

        PE(2*i, x, y)         = sin(x / max_wavelength**(2*i / P))
        PE(2*i + 1, x, y)     = cos(x / max_wavelength**(2*i / P))
        PE(P + 2*i, x, y)     = sin(y / max_wavelength**(2*i / P))
        PE(P + 2*i + 1, x, y) = cos(y / max_wavelength**(2*i / P))

    cut to the number of channels: the numbers of `PositionalEncoding2D`, with the
    channels first whatever `keras.config.image_data_format()` says. Positions count
    from 0. The numbers are computed in float32 or better under every dtype policy
    and rounded once. Masks pass through.

    Args:
        channels: Integer or `None`. Channels that the encoding is made for. An input
            with fewer gets the first ones; one with more gets the `2 * P` that there
            are, with a warning. `None` means each input's own number. Defaults to
            `None`.
        dtype_override: Another name of `dtype`. Defaults to `None`.
        max_wavelength: Float, or one float for each axis. The base of the geometric
            series of wavelengths, in units of `2 * pi` positions. Positive.
            Defaults to `10000.0`.
        **kwargs: The other options of `PositionalEncoding`: `endpoint`, `frequencies`,
            `layout`, `cos_first`, `axis_order`, `split`, `remainder`, `offset`,
            `scale`, `coordinate_range`, `align_corners`, `eps`, `grid` and
            `prefix_tokens`; and base layer arguments such as `name` and `dtype`.
            `dtype` takes a string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype
            policy.

    Call arguments:
        inputs: Tensor of shape `(batch, channels, x, y)`, of any dtype. Only its
            shape matters.
        start_index, positions: Where positions start to count, or the positions
            themselves, as in `PositionalEncoding`.

    Returns:
        Tensor of the input's shape, but for channels that there are not, in the
        layer's compute dtype.

    Raises:
        TypeError: If `channels` is no integer, or `max_wavelength` no number.
        ValueError: If an argument has no valid value; when called, if the input
            has another rank, has an unknown number of channels, or is sparse or ragged.

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
    """Sinusoidal encoding of the positions of a volume or a video, channels first.

    With `P = 2 * ceil(channels / 6)` channels for each axis, for position `(x, y, z)`
    and `i = 0 .. P/2 - 1`,

        PE(2*i, x, y, z)           = sin(x / max_wavelength**(2*i / P))
        PE(2*i + 1, x, y, z)       = cos(x / max_wavelength**(2*i / P))
        PE(P + 2*i, x, y, z)       = sin(y / max_wavelength**(2*i / P))
        PE(P + 2*i + 1, x, y, z)   = cos(y / max_wavelength**(2*i / P))
        PE(2*P + 2*i, x, y, z)     = sin(z / max_wavelength**(2*i / P))
        PE(2*P + 2*i + 1, x, y, z) = cos(z / max_wavelength**(2*i / P))

    cut to the number of channels: the numbers of `PositionalEncoding3D`, with the
    channels first whatever `keras.config.image_data_format()` says. Positions count
    from 0. The numbers are computed in float32 or better under every dtype policy
    and rounded once. Masks pass through.

    Args:
        channels: Integer or `None`. Channels that the encoding is made for. An input
            with fewer gets the first ones; one with more gets the `3 * P` that there
            are, with a warning. `None` means each input's own number. Defaults to
            `None`.
        dtype_override: Another name of `dtype`. Defaults to `None`.
        max_wavelength: Float, or one float for each axis. The base of the geometric
            series of wavelengths, in units of `2 * pi` positions. Positive.
            Defaults to `10000.0`.
        **kwargs: The other options of `PositionalEncoding`: `endpoint`, `frequencies`,
            `layout`, `cos_first`, `axis_order`, `split`, `remainder`, `offset`,
            `scale`, `coordinate_range`, `align_corners`, `eps`, `grid` and
            `prefix_tokens`; and base layer arguments such as `name` and `dtype`.
            `dtype` takes a string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype
            policy.

    Call arguments:
        inputs: Tensor of shape `(batch, channels, x, y, z)`, of any dtype. Only its
            shape matters.
        start_index, positions: Where positions start to count, or the positions
            themselves, as in `PositionalEncoding`.

    Returns:
        Tensor of the input's shape, but for channels that there are not, in the
        layer's compute dtype.

    Raises:
        TypeError: If `channels` is no integer, or `max_wavelength` no number.
        ValueError: If an argument has no valid value; when called, if the input
            has another rank, has an unknown number of channels, or is sparse or ragged.

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
