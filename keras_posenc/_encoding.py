"""The layers that return the encoding of their input's positions."""

from __future__ import annotations

import dataclasses
import operator
from typing import Any, ClassVar, Unpack

import keras

from keras_posenc import _backend
from keras_posenc._arguments import grid_rank, one_of
from keras_posenc._evaluate import encode_grid, kept_encoding
from keras_posenc._layer import (
    EncodingLayer,
    LayerArguments,
    Shape,
    dims_error,
    has_dims,
    warn,
)
from keras_posenc._waves import OPTION_NAMES, WaveArguments, WaveOptions, Waves


class EncodingArguments(WaveArguments, LayerArguments, total=False):
    """Wave options and base layer arguments, for type checkers and editors."""


@keras.saving.register_keras_serializable(package="keras_posenc")
class PositionalEncoding(EncodingLayer):
    """Sinusoidal encoding of the positions of a grid of any rank.

    With `P = 2 * ceil(channels / (2 * rank))` channels for each axis, the block of
    axis `a` holds, for `k = 0 .. P/2 - 1` and the position `x_a` along the axis,

        PE(..., a*P + 2*k)     = sin(x_a / max_wavelength**(2*k / P))
        PE(..., a*P + 2*k + 1) = cos(x_a / max_wavelength**(2*k / P))

    and the blocks, one after the other, are cut to `channels`. Positions count from
    0. The numbers are computed in float32 or better under every dtype policy and
    rounded once. Masks pass through.

    Args:
        rank: Integer. Number of axes between batch and channels. At least 1.
        channels: Integer or `None`. Channels that the encoding is made for. An input
            with fewer gets the first ones; one with more gets the `rank * P` that
            there are, with a warning. `None` means each input's own number. Defaults
            to `None`.
        dtype_override: Another name of `dtype`. Defaults to `None`.
        data_format: String, `"channels_last"` or `"channels_first"`. Where the input
            has its channels. Defaults to `"channels_last"`.
        max_wavelength: Float, or one float for each axis. The base of the geometric
            series of wavelengths, in units of `2 * pi` positions: the longest wave
            has nearly this length. Positive. Defaults to `10000.0`.
        **kwargs: Base layer arguments such as `name` and `dtype`. `dtype` takes a
            string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype policy.

    Call arguments:
        inputs: Tensor of shape `(batch, *sizes, channels)`, or
            `(batch, channels, *sizes)` with `data_format="channels_first"`, of any
            dtype. Only its shape matters.

    Returns:
        Tensor of the input's shape, but for channels that there are not, in the
        layer's compute dtype.

    Raises:
        TypeError: If `rank` or `channels` is no integer, or `max_wavelength` no
            number.
        ValueError: If an argument has no valid value; when called, if the input has
            another rank, an unknown number of channels, or is sparse or ragged.

    Example:
        >>> import numpy as np
        >>> import keras
        >>> from keras_posenc import PositionalEncoding
        >>> video = np.zeros((2, 16, 24, 24, 96))
        >>> keras.ops.shape(PositionalEncoding(rank=3)(video))
        (2, 16, 24, 24, 96)

    Reference:
        - Vaswani et al., 2017, arXiv:1706.03762, section 3.5 (rank 1).
    """

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
        options = {name: base.pop(name) for name in OPTION_NAMES if name in base}
        super().__init__(dtype_override=dtype_override, **base)
        # Only the shape of the input matters: casting its values would be waste.
        self.autocast = False
        self.data_format = one_of(
            "data_format", data_format, ("channels_last", "channels_first")
        )
        self._options = WaveOptions(grid_rank("rank", rank), channels, **options)
        last = self._options.rank + 1
        self.channel_dim = 1 if self.data_format == "channels_first" else last
        # One record is what the layer works with; users read it as attributes.
        for name, value in dataclasses.asdict(self._options).items():
            setattr(self, name, value)
        self.org_channels = self._options.channels  # as in `positional-encodings`
        if self._options.channels is not None:
            self._warn_of_silent_axes(self._options.channels)

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        if self._options.channels is None:
            self._warn_of_silent_axes(self._input_channels(input_shape))

    def call(self, inputs: Any) -> Any:
        dtype = self.available_dtype
        encoding = self.kept_encoding(inputs, dtype)
        if encoding is None:
            self.check_inputs(inputs)
            if self.lacks_channels(inputs.shape):
                self._warn_of_missing_channels(inputs.shape)
            encoding = self.new_encoding(inputs, dtype)
        return _backend.over_batch(encoding, inputs)

    def kept_encoding(self, inputs: Any, dtype: str) -> Any | None:
        """What `new_encoding` has made before. None unless `inputs` fit, and eager."""
        dtypes = (self.available_dtype, dtype)
        return kept_encoding(inputs, self._options, self.channel_dim, dtypes)

    def new_encoding(self, inputs: Any, dtype: str) -> Any:
        """The encoding of `inputs`, which fit, with a batch of one.

        It is rounded to the dtype of this layer, then to `dtype`.
        """
        channels = self._waves(inputs.shape).channels
        dtypes = (self.available_dtype, dtype)
        return encode_grid(inputs, self._options, self.channel_dim, dtypes, channels)

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
        rank = self._options.rank
        if has_dims(shape, rank + 2, self.channel_dim):
            return
        sizes = ", ".join("xyz"[:rank]) if rank <= 3 else f"{rank} sizes"
        last = self.data_format == "channels_last"
        described = (
            f"(batch, {sizes}, channels)" if last else f"(batch, channels, {sizes})"
        )
        raise dims_error(self, shape, rank + 2, described)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            **self._options.config(),
            "data_format": self.data_format,
        }

    def _waves(self, shape: Shape) -> Waves:
        return Waves(self._options, self._input_channels(shape))

    def _input_channels(self, shape: Shape) -> int:
        # `check_shape` refuses None. `index` makes a number of what torch.compile may
        # keep open.
        return operator.index(shape[self.channel_dim])  # type: ignore[arg-type]

    def _warn_of_silent_axes(self, channels: int) -> None:
        for axis in Waves(self._options, channels).silent_axes():
            warn(
                f"{type(self).__name__} has no channel for axis {axis} of its "
                f"{self._options.rank}: positions along it are not encoded. "
                f"Received: channels={channels}"
            )

    def _warn_of_missing_channels(self, shape: Shape) -> None:
        # Without the sizes: one text for all lengths, which Python shows once.
        warn(
            f"{type(self).__name__} with channels={self._options.channels} makes "
            f"{self._waves(shape).channels} channels, which are all that the encoding "
            f"has. Received: inputs of {self._input_channels(shape)} channels"
        )


class _FixedRank(PositionalEncoding):
    """`PositionalEncoding` whose class says the rank, so that no argument does."""

    _rank: ClassVar[int]

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
        **kwargs: Base layer arguments such as `name` and `dtype`. `dtype` takes a
            string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype policy.

    Call arguments:
        inputs: Tensor of shape `(batch, x, channels)`, or `(batch, channels, x)`
            with `data_format="channels_first"`, of any dtype. Only its shape matters.

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
        **kwargs: Base layer arguments such as `name` and `dtype`. `dtype` takes a
            string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype policy.

    Call arguments:
        inputs: Tensor of shape `(batch, x, y, channels)`, or `(batch, channels, x, y)`
            with `data_format="channels_first"`, of any dtype. Only its shape matters.

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
        **kwargs: Base layer arguments such as `name` and `dtype`. `dtype` takes a
            string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype policy.

    Call arguments:
        inputs: Tensor of shape `(batch, x, y, z, channels)`, or
            `(batch, channels, x, y, z)` with `data_format="channels_first"`, of any
            dtype. Only its shape matters.

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
        **kwargs: Base layer arguments such as `name` and `dtype`. `dtype` takes a
            string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype policy.

    Call arguments:
        inputs: Tensor of shape `(batch, channels, x)`, of any dtype. Only its
            shape matters.

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
        **kwargs: Base layer arguments such as `name` and `dtype`. `dtype` takes a
            string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype policy.

    Call arguments:
        inputs: Tensor of shape `(batch, channels, x, y)`, of any dtype. Only its
            shape matters.

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
        **kwargs: Base layer arguments such as `name` and `dtype`. `dtype` takes a
            string, a NumPy, TensorFlow, torch or JAX dtype, or a dtype policy.

    Call arguments:
        inputs: Tensor of shape `(batch, channels, x, y, z)`, of any dtype. Only its
            shape matters.

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
