"""Where the axes and channels of an input are."""

from __future__ import annotations

import dataclasses
import functools
import operator
from dataclasses import dataclass, field
from typing import Any

from keras_posenc._engine.waves import Grid

Shape = tuple[Any, ...]


@dataclass(frozen=True)
class Placing:
    """How inputs are laid out: an axis in each dimension, or all in one of tokens."""

    rank: int
    data_format: str = "channels_last"
    # Sizes, one of which may be None and follows from the number of tokens. None if
    # inputs are no tokens, or if each call has its own.
    grid: tuple[int | None, ...] | None = None
    prefix_tokens: int = 0
    in_call: bool = False  # whether inputs are tokens because the call says so

    # What follows from these, which every call asks for.
    has_tokens: bool = field(init=False)
    ndim: int = field(init=False)
    channel_dim: int = field(init=False)
    dims: tuple[int, ...] = field(init=False)  # of the axes of an encoding

    def __post_init__(self) -> None:
        first = 2 if self.data_format == "channels_first" else 1
        tokens = self.grid is not None or self.prefix_tokens > 0 or self.in_call
        ndim = 3 if tokens else self.rank + 2
        object.__setattr__(self, "has_tokens", tokens)
        object.__setattr__(self, "ndim", ndim)
        object.__setattr__(self, "channel_dim", 1 if first == 2 else ndim - 1)
        object.__setattr__(self, "dims", tuple(range(first, first + self.rank)))

    def for_call(self, shape: Shape, positions: Any, grid: Any) -> Placing:
        """The same for inputs that are tokens because of what comes with them."""
        flat = len(shape) == 3 and (self.rank > 1 or self.has_tokens)
        if flat and (grid is not None or positions is not None):
            return dataclasses.replace(self, grid=None, in_call=True)
        return self

    def fits(self, shape: Shape) -> bool:
        """Whether `shape` has this layout, and a known number of channels."""
        if len(shape) != self.ndim:
            return False
        try:
            # Neither None nor a symbol of `jax.export` says how many waves to make.
            operator.index(shape[self.channel_dim])
        except TypeError:
            return False
        return True

    def channels(self, shape: Shape) -> int:
        """The channels of inputs of `shape`, which fits."""
        # `index` makes a number of what torch.compile may keep open.
        return operator.index(shape[self.channel_dim])

    def with_channels(self, shape: Shape, channels: int) -> Shape:
        before, after = shape[: self.channel_dim], shape[self.channel_dim + 1 :]
        return (*before, channels, *after)

    def sizes(self, shape: Shape) -> Shape:
        """The sizes between batch and channels, without the prefix of tokens."""
        sizes = shape[2:] if self.channel_dim == 1 else shape[1:-1]
        if not self.has_tokens or sizes[0] is None:
            return sizes
        return (sizes[0] - self.prefix_tokens,)

    def plain_sizes(self, shape: Shape) -> Shape | None:
        """The size of each axis, for inputs that come without a grid of their own.

        None unless the number of dimensions, and of tokens, is right.
        """
        if len(shape) != self.ndim:
            return None
        sizes = self.sizes(shape)
        if not self.has_tokens:
            return sizes
        if self.grid is None or None in self.grid:
            return None
        return self.grid if sizes == (product(self.grid),) else None

    def engine_grid(self, sizes: Shape, starts: Shape) -> Grid:
        """Where the encoding lies, for each axis of which there is a size."""
        channel_dim = 1 if self.channel_dim == 1 else self.rank + 1
        prefix = self.prefix_tokens if self.has_tokens else None
        return Grid(sizes, starts, self.dims, channel_dim, prefix)

    def described(self, sizes: str = "") -> str:
        """The shape that inputs have, in words."""
        if self.has_tokens:
            sizes = "tokens"
        elif not sizes:
            few = self.rank <= 3
            sizes = ", ".join("xyz"[: self.rank]) if few else f"{self.rank} sizes"
        if self.data_format == "channels_last":
            return f"(batch, {sizes}, channels)"
        return f"(batch, channels, {sizes})"

    def require_tokens(self, name: str, shape: Shape) -> None:
        """Raises where a grid of the constructor has another number of tokens."""
        found = shape[3 - self.channel_dim] if self.has_tokens else None
        if self.grid is None or type(found) is not int:
            return
        sizes = [size for size in self.grid if size is not None]
        of_grid = product(sizes)
        open_ended = len(sizes) < len(self.grid)
        rest = found - self.prefix_tokens
        if rest == of_grid or (open_ended and rest >= 0 and rest % of_grid == 0):
            return
        tokens = self.prefix_tokens + of_grid
        expected = f"a multiple of {of_grid}" if open_ended else f"{tokens}"
        raise ValueError(
            f"{name} expects {expected} tokens, found {found}: "
            f"prefix_tokens={self.prefix_tokens} and grid={self.grid}. "
            f"Received: inputs of shape {shape}"
        )


def product(sizes: Any) -> Any:
    """Not `math.prod`, which torch.compile does not know."""
    return functools.reduce(operator.mul, sizes, 1)
