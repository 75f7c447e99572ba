"""What layers share whose inputs have positions: where they are, and encoded."""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from keras_posenc import _backend, _checks, _positions
from keras_posenc._base import EncodingLayer, ReadOnly, Shape, shape_error
from keras_posenc._door import PLACES
from keras_posenc._engine.grids import encode_grid, find_table
from keras_posenc._engine.points import encode_positions
from keras_posenc._engine.waves import Grid, Recipe
from keras_posenc._placing import Placing
from keras_posenc._sinusoidal import WaveOptions


class _Located(NamedTuple):
    """Where inputs are: in a grid, or at positions that were given."""

    placing: Placing
    grid: Grid | None
    positions: Any | None


class GridLayer(EncodingLayer):
    """Base of the layers that encode the positions of their inputs."""

    _options: WaveOptions
    _placing: Placing

    def _encoding(
        self,
        inputs: Any,
        start_index: Any,
        positions: Any,
        grid: Any,
        *,
        whole: bool = False,
    ) -> Any:
        """The encoding of `inputs`, with a batch of one or with theirs.

        Where it has fewer channels than `inputs`, that is an error if the `whole` input
        is to be encoded, else a warning.
        """
        plain = positions is None and grid is None and _positions.is_zero(start_index)
        if plain:
            table = self._find_table(inputs)
            if table is not None:
                return table
        self._check_inputs(inputs)
        static, sizes = tuple(inputs.shape), tuple(_backend.shape(inputs))
        located = self._locate(static, sizes, start_index, positions, grid)
        self._check_options(static)
        channels = located.placing.channels(static)
        recipe = self._recipe(channels)
        if recipe.channels < channels:
            if whole:
                encoded = located.placing.with_channels(static, recipe.channels)
                raise shape_error(self, encoded, static)
            self._warn_of_missing_channels(static, recipe.channels)
        if located.grid is None:
            encoding = self._encoding_at(inputs, located, recipe)
        else:
            dtype = self.available_dtype
            encoding = encode_grid(inputs, located.grid, recipe, dtype)
            if located.placing.has_tokens:
                (tokens,) = located.placing.sizes(sizes)
                encoding = _backend.with_count(encoding, located.grid.sizes, tokens)
        if plain or None not in static:
            return encoding
        channel_dim, given = located.placing.channel_dim, located.grid is None
        return _backend.tied_sizes(encoding, inputs, channel_dim, one_goes=given)

    def _find_table(self, inputs: Any) -> Any | None:
        """What an eager call has cached for positions that count from 0.

        Before any check, which would take as long as to add the table: none is stored
        for inputs that do not fit.
        """
        if not _backend.is_eager(inputs):
            return None
        placing, shape = self._placing, tuple(inputs.shape)
        sizes = placing.plain_sizes(shape)
        if sizes is None:
            return None
        channels = shape[placing.channel_dim]
        recipe = self._recipe(channels)
        if recipe.channels < channels:  # worth a warning each time
            return None
        grid = placing.engine_grid(sizes, (0,) * placing.rank)
        return find_table(inputs, grid, recipe, self.available_dtype)

    def _encoding_at(self, inputs: Any, located: _Located, recipe: Recipe) -> Any:
        """The encoding of given positions."""
        placing, dtype = located.placing, self.available_dtype
        self._warn_of_rounded("positions", located.positions)
        encoding = encode_positions(located.positions, recipe, dtype, like=inputs)
        if placing.prefix_tokens:
            how = (1, placing.prefix_tokens)
            encoding = _backend.in_one_call(
                encoding, _backend.after_zeros, how, encoding
            )
        if placing.channel_dim == 1:
            encoding = ops.moveaxis(encoding, -1, 1)
        return encoding

    def _recipe(self, channels: int) -> Recipe:
        return Recipe(self._options, self._options.encoded_channels(channels))

    def _locate(
        self, static: Any, sizes: Any, start_index: Any, positions: Any, grid: Any
    ) -> _Located:
        """Where inputs are. `static` has None where only a graph knows a size."""
        shape, rank = tuple(static), self._options.rank
        placing = self._placing.for_call(shape, positions, grid)
        self._require_layout(placing, shape)
        if positions is not None:
            self._refuse_beside_positions(start_index, grid)
            expected = placing.sizes(shape)
            found = _positions.checked_positions(positions, expected, rank, shape[0])
            return _Located(placing, None, found)
        starts = _positions.checked_starts(start_index, rank, shape[0])
        given = start_index if isinstance(start_index, (tuple, list)) else [start_index]
        if self._options.spreads and not all(map(_positions.is_zero, given)):
            raise _checks.refusal(
                "`start_index` must be 0 with `coordinate_range`, which spreads over "
                "the size of the input: give `positions` instead",
                start_index=start_index,
            )
        found = placing.sizes(tuple(sizes))
        if grid is None:
            grid = placing.grid
        if grid is not None:
            if not (placing.has_tokens or rank == 1):
                raise ValueError(
                    "`grid` is for inputs that are a flat sequence of tokens. "
                    f"Received: grid={_checks.shown(grid)} and inputs of shape {shape}"
                )
            tokens = found[0] if found[0] is None else found[0] + placing.prefix_tokens
            given = _positions.checked_grid(grid, rank, tokens, placing.prefix_tokens)
            found = given if rank > 1 else found
        elif placing.has_tokens and rank > 1:
            raise ValueError(
                f"{type(self).__name__} needs the `grid` that its tokens come from, in "
                "the constructor or in the call, or their `positions`. "
                f"Received: inputs of shape {shape}"
            )
        return _Located(placing, placing.engine_grid(found, starts), None)

    def _refuse_beside_positions(self, start_index: Any, grid: Any) -> None:
        if _positions.is_zero(start_index) and grid is None:
            return
        name, value = ("start_index", start_index) if grid is None else ("grid", grid)
        rule = f"`{name}` must be {PLACES[name]} beside `positions`, which say where "
        raise _checks.refusal(f"{rule}everything is", **{name: value})

    def _check_places(self, shape: Shape, **places: Any) -> None:
        self._locate(shape, shape, **places)
        self._check_options(shape)
        if places["positions"] is not None:
            self._warn_of_rounded("positions", places["positions"])

    def _check_shape(self, shape: Shape) -> None:
        self._require_layout(self._placing, shape)
        self._check_options(shape)

    def _check_built_shape(self, shape: Shape) -> None:
        # Inputs may be tokens, of which the call has the grid.
        placing = self._placing.for_call(shape, None, grid=())
        self._require_layout(placing, shape)
        self._check_options(shape)

    def _check_options(self, shape: Shape) -> None:
        """Raises where the options do not suit inputs of `shape`."""
        if self._options.channels is None:
            channels = self._placing.for_call(shape, None, grid=()).channels(shape)
            self._options.require_channels(channels)

    def _require_layout(self, placing: Placing, shape: Shape) -> None:
        if not placing.fits(shape):
            expected = f"{type(self).__name__} expects inputs of shape "
            problem = (
                ", whose number of channels is known when the model is built"
                if len(shape) == placing.ndim
                else f": expected ndim={placing.ndim}, found ndim={len(shape)}"
            )
            raise ValueError(
                f"{expected}{placing.described()}{problem}{self._layout_hint(shape)}. "
                f"Received: inputs of shape {shape}"
            )
        placing.require_tokens(type(self).__name__, shape)

    def _layout_hint(self, shape: Shape) -> str:
        """What may have been meant by inputs of another rank."""
        rank, axes = self._options.rank, len(shape) - 2
        if rank > 3 and 1 <= axes <= 3 and rank in shape:
            return f"; perhaps PositionalEncoding{axes}D({rank}) was meant"
        return ""

    def _warn_of_missing_channels(self, shape: Shape, encoded: int) -> None:
        """Warns where inputs of `shape` have more channels than their encoding."""


def read_only(cls: Any, record: str, *names: str) -> None:
    """Makes attributes of the fields of a record that layers of `cls` have."""
    for name in names:
        attribute = ReadOnly(record)
        attribute.__set_name__(cls, name)
        setattr(cls, name, attribute)
