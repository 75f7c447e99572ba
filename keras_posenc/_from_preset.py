"""Layers by the name of a published encoding."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from keras_posenc._checks import positive_integer, shown
from keras_posenc._presets import preset_options, preset_row, wrong_rank


class FromPreset:
    """What makes a layer of a name. For classes that take `channels` and options."""

    # The rank of a class whose constructor takes none, or where it defaults to.
    _rank: ClassVar[int | None] = None
    # What the names of the classes that have the rank in it begin with.
    _family: ClassVar[str | None] = None

    @classmethod
    def from_preset(
        cls, preset: str, channels: int | None = None, **overrides: Any
    ) -> Self:
        """A layer with the options of a published encoding.

        Args:
            preset: String. One of the names that `keras_posenc.presets()` lists.
            channels: Integer or `None`. As in the constructor. Defaults to `None`.
            **overrides: Arguments of the constructor (`rank` too, where it takes one),
                which win over those of the preset.

        Returns:
            Layer whose config has the options, not the name of the preset.

        Raises:
            TypeError: If `preset` is no string, or if there is no `rank`.
            ValueError: If there is no such preset for as many axes, or if it needs
                `channels`.
        """
        if cls._family is not None and "rank" in overrides:
            raise TypeError(
                f"`{cls.__name__}` has its rank in its name. "
                f"Received: rank={shown(overrides['rank'])}"
            )
        rank = overrides.get("rank", cls._rank)
        if rank is None:
            raise TypeError(
                f"`{cls.__name__}.from_preset` needs `rank`, the number of axes. "
                f"Received: preset={shown(preset)}, without it"
            )
        rank = positive_integer("rank", rank)
        ranks = preset_row(preset).ranks
        if ranks is not None and rank not in ranks:
            calls = " or ".join(cls._call_for(preset, other) for other in ranks)
            raise wrong_rank(preset, rank, calls)
        arguments = preset_options(preset, rank, channels, overrides)
        return cls(channels=channels, **arguments)  # type: ignore[call-arg]

    @classmethod
    def _call_for(cls, preset: str, rank: int) -> str:
        """What to write for another rank."""
        if cls._family is None:
            return f"{cls.__name__}.from_preset({preset!r}, rank={rank})"
        return f"{cls._family}{rank}D.from_preset({preset!r})"
