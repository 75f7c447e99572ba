"""The published encodings by name: what options each of them is.

A preset is data, one row of `PRESETS`. What a row says becomes options when a layer is
made: nothing else in the package, and no file, knows the name.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from keras_posenc._checks import positive_integer, shown

# Options, or what makes them of the rank and the number of channels.
Options = Mapping[str, Any] | Callable[[int, int], dict[str, Any]]

# The key of options that hold for every rank.
ANY = 0


@dataclass(frozen=True)
class Preset:
    """A published encoding: the options of each rank that it is for, and its origin."""

    name: str
    by_rank: Mapping[int, Options]
    sentence: str
    source: str

    @property
    def ranks(self) -> tuple[int, ...] | None:
        """The ranks that it is for. None means all."""
        return None if ANY in self.by_rank else tuple(self.by_rank)

    def options(self, rank: int, channels: int | None) -> dict[str, Any]:
        """Those for a rank that it is for."""
        found = self.by_rank.get(rank, self.by_rank.get(ANY))
        assert found is not None
        if isinstance(found, Mapping):
            return dict(found)
        if channels is None:
            raise ValueError(
                f"`channels` must be given with the preset {self.name!r}, whose "
                "options follow from them. Received: channels=None"
            )
        return found(rank, positive_integer("channels", channels))


# --- Options that follow from the number of channels ---------------------------------


def _bands(rank: int, channels: int) -> int:
    return -(-channels // (2 * rank))


def _require_divisible(channels: int, divisor: int) -> None:
    if channels % divisor:
        raise ValueError(
            f"`channels` must be divisible by {divisor} with this preset. "
            f"Received: channels={channels}"
        )


def _half_for_time(rank: int, channels: int) -> dict[str, Any]:
    _require_divisible(channels, 8)
    split = [channels // 2, channels // 4, channels // 4]
    return {"layout": "concatenated", "split": split}


def _quarter_for_time(rank: int, channels: int) -> dict[str, Any]:
    _require_divisible(channels, 16)
    side = 3 * channels // 8
    return {
        "layout": "concatenated",
        "split": [channels // 4, side, side],
        "axis_order": [0, 2, 1],
        "scale": [1.0, 1 / 1.875, 1 / 1.875],
    }


def _sixteenths(rank: int, channels: int) -> dict[str, Any]:
    _require_divisible(channels, 16)
    part = channels // 16
    return {
        "layout": "concatenated",
        "split": [4 * part, 6 * part, 6 * part],
        "axis_order": [2, 1, 0],
    }


def _octaves(rank: int, channels: int) -> dict[str, Any]:
    highest = _bands(rank, channels) - 1
    return {
        "layout": "freq phase axis",
        "max_wavelength": 2.0**-highest,
        "endpoint": True,
    }


def _up_to_nyquist(rank: int, channels: int) -> dict[str, Any]:
    bands, highest = _bands(rank, channels), 224 / 2
    step = (highest - 1) / max(bands - 1, 1)
    return {
        "layout": "phase axis freq",
        "coordinate_range": [-1.0, 1.0],
        "align_corners": True,
        "scale": math.pi,
        "frequencies": [1 + band * step for band in range(bands)],
    }


def _powers_of_e(rank: int, channels: int) -> dict[str, Any]:
    frequencies = [math.exp(-2.0 * band) for band in range(_bands(rank, channels))]
    return {**_LOFTR, "frequencies": frequencies}


# --- Options that several rows share -------------------------------------------------

_INTERLEAVED: dict[str, Any] = {}
_HALVES = {"layout": "concatenated"}
# Where the original adds a zero to an odd number of channels, or zeros to a number that
# does not divide, so does `remainder="pad"`.
_PADDED = {**_HALVES, "remainder": "pad"}
_ENDPOINT = {**_HALVES, "endpoint": True}
_TIMESTEPS = {**_PADDED, "cos_first": True}
_AFTER_PADDING = {**_ENDPOINT, "offset": 2.0, "remainder": "pad"}
_COLUMN_FIRST = {**_HALVES, "axis_order": [1, 0]}
_TURN = {"coordinate_range": [0.0, 2 * math.pi], "eps": 1e-6}
_DETR = {"offset": 1.0, **_TURN}
_LOFTR = {"layout": "freq axis phase", "axis_order": [1, 0], "offset": 1.0}

_ROWS = [
    Preset(
        "attention-is-all-you-need",
        {1: _INTERLEAVED},
        "The formula of the first Transformer, sines and cosines in turn, as PyTorch "
        "tutorials and most papers write it; token embeddings are multiplied by "
        "sqrt(channels) outside.",
        "arXiv:1706.03762, section 3.5",
    ),
    Preset(
        "positional-encodings",
        {1: _INTERLEAVED, 2: _INTERLEAVED, 3: _INTERLEAVED},
        "The package of that name from 5.1 on, which is also the default here.",
        "https://github.com/tatp22/multidim-positional-encoding",
    ),
    Preset(
        "positional-encodings-5",
        {1: _HALVES, 2: _HALVES, 3: _HALVES},
        "The package of that name before 5.1: for each axis all sines, then all "
        "cosines.",
        "https://github.com/tatp22/multidim-positional-encoding",
    ),
    Preset(
        "tensor2tensor",
        {ANY: {**_ENDPOINT, "remainder": "pad"}},
        "The timing signals of Tensor2Tensor, with zeros in the channels that do not "
        "divide among the axes; embeddings are multiplied by sqrt(channels) outside.",
        "https://github.com/tensorflow/tensor2tensor, "
        "tensor2tensor/layers/common_attention.py",
    ),
    Preset(
        "fairseq",
        {1: _AFTER_PADDING},
        "The sinusoidal table of fairseq as an unpadded input with padding index 1 "
        "sees it, from row 2 on; padding has a row of zeros there, and batches with "
        "padding need `positions_from_mask(mask, start=2, masked=1)`.",
        "https://github.com/facebookresearch/fairseq, "
        "fairseq/modules/sinusoidal_positional_embedding.py",
    ),
    Preset(
        "m2m100",
        {1: _AFTER_PADDING},
        "M2M100 in Transformers, from row 2 on, as in fairseq: padding has a row of "
        "zeros there, and token embeddings are multiplied by sqrt(channels) outside.",
        "https://github.com/huggingface/transformers, "
        "src/transformers/models/m2m_100/modeling_m2m_100.py",
    ),
    Preset(
        "nllb",
        {1: _AFTER_PADDING},
        "NLLB, dense and mixture of experts, in Transformers, from row 2 on, as in "
        "fairseq: padding has a row of zeros there, and token embeddings are "
        "multiplied by sqrt(channels) outside.",
        "https://github.com/huggingface/transformers, "
        "src/transformers/models/nllb_moe/modeling_nllb_moe.py",
    ),
    Preset(
        "marian-hf",
        {1: _HALVES},
        "Marian in Transformers, and Pegasus likewise: all sines, then all cosines; "
        "token embeddings are multiplied by sqrt(channels) outside where the model's "
        "configuration says so.",
        "https://github.com/huggingface/transformers, "
        "src/transformers/models/marian/modeling_marian.py",
    ),
    Preset(
        "whisper",
        {1: _ENDPOINT},
        "The encoder of Whisper, where the original has 1,500 rows and takes no other "
        "length; its decoder learns its positions.",
        "https://github.com/openai/whisper, whisper/model.py",
    ),
    Preset(
        "musicgen",
        {1: {**_ENDPOINT, "cos_first": True, "remainder": "pad"}},
        "The decoder of MusicGen: all cosines, then all sines.",
        "https://github.com/facebookresearch/audiocraft, "
        "audiocraft/modules/transformer.py",
    ),
    Preset(
        "transformer-xl",
        {1: _HALVES},
        "The relative positions of Transformer-XL, which are distances: its rows run "
        "from the largest down to 0, so give them as `positions`.",
        "https://github.com/kimiyoung/transformer-xl, pytorch/mem_transformer.py",
    ),
    Preset(
        "ddpm",
        {1: {**_ENDPOINT, "remainder": "pad"}},
        "The timesteps of DDPM, and of diffusers with `flip_sin_to_cos=False` and "
        "`downscale_freq_shift=1`.",
        "https://github.com/hojonathanho/diffusion, diffusion_tf/nn.py",
    ),
    Preset(
        "dit",
        {1: _TIMESTEPS, 2: _COLUMN_FIRST},
        "DiT: in one dimension its timesteps, all cosines first; in two the patches of "
        "its square grid, the column in the first half.",
        "https://github.com/facebookresearch/DiT, models.py",
    ),
    Preset(
        "stable-diffusion",
        {1: _TIMESTEPS},
        "The timesteps of Stable Diffusion, of guided diffusion, and of diffusers with "
        "`flip_sin_to_cos=True` and `downscale_freq_shift=0`: all cosines first.",
        "https://github.com/CompVis/stable-diffusion, "
        "ldm/modules/diffusionmodules/util.py",
    ),
    Preset(
        "flux-timestep",
        {1: {**_TIMESTEPS, "scale": 1000.0}},
        "The timesteps of FLUX, which run from 0 to 1 and are multiplied by 1,000; "
        "its guidance is encoded in the same way.",
        "https://github.com/black-forest-labs/flux, src/flux/modules/layers.py",
    ),
    Preset(
        "im2latex",
        {2: {"axis_order": [1, 0]}},
        "Wang and Liu's 2D encoding for formulas in images: the column in the first "
        "half, sines and cosines in turn.",
        "arXiv:1908.11415; https://github.com/wzlxjtu/PositionalEncoding2D",
    ),
    Preset(
        "detr",
        {2: _DETR},
        "DETR, MaskFormer and many more: the coordinates of an image run up to a whole "
        "turn, whatever its size; images with padding need "
        "`positions_from_mask(mask, 2, start=1, normalize=(0, 2 * pi), eps=1e-6)`.",
        "https://github.com/facebookresearch/detr, models/position_encoding.py",
    ),
    Preset(
        "detr-unnormalized",
        {2: {"offset": 1.0}},
        "The encoding of DETR with `normalize=False`, which is the default of its "
        "class, not of its models: rows and columns counted from 1.",
        "https://github.com/facebookresearch/detr, models/position_encoding.py",
    ),
    Preset(
        "deformable-detr",
        {2: {"offset": 0.5, **_TURN}},
        "Deformable DETR, whose coordinates are those of the centres of pixels; the "
        "embedding of each level is added outside.",
        "https://github.com/fundamentalvision/Deformable-DETR, "
        "models/position_encoding.py",
    ),
    Preset(
        "dab-detr",
        {2: {**_DETR, "max_wavelength": 20.0}},
        "DAB-DETR, whose temperatures are arguments, 20 unless given (an override such "
        "as `max_wavelength=[10, 50]` is height, width); its anchors are encoded "
        "differently.",
        "https://github.com/IDEA-Research/DAB-DETR, "
        "models/DAB_DETR/position_encoding.py",
    ),
    Preset(
        "dino-detr",
        {2: {**_DETR, "max_wavelength": 20.0}},
        "DINO (the detector), whose temperatures are 20 in its configurations; the "
        "embedding of each level is added outside.",
        "https://github.com/IDEA-Research/DINO, models/dino/position_encoding.py",
    ),
    Preset(
        "loftr",
        {2: _LOFTR},
        "LoFTR as its code is now, the column before the row in each group of four, "
        "both counted from 1; models that were trained before that repair, kornia's "
        "too, need `loftr-unfixed`.",
        "https://github.com/zju3dv/LoFTR, src/loftr/utils/position_encoding.py",
    ),
    Preset(
        "loftr-unfixed",
        {2: _powers_of_e},
        "LoFTR with `temp_bug_fix=False`, as its first models were trained, the "
        "outdoor one among them: a division that rounds down makes the frequencies "
        "powers of exp(-2).",
        "https://github.com/zju3dv/LoFTR/issues/41",
    ),
    Preset(
        "mae",
        {1: _HALVES, 2: _COLUMN_FIRST},
        "MAE, encoder and decoder: in two dimensions the tokens of its square grid, "
        "the column in the first half, and for its class token a row of zeros (give "
        "`grid` and `prefix_tokens=1`); in one, only what its code has for one of the "
        "two axes.",
        "https://github.com/facebookresearch/mae, util/pos_embed.py",
    ),
    Preset(
        "i-jepa",
        {2: _COLUMN_FIRST},
        "I-JEPA, encoder and predictor: as MAE, a square grid, but without a class "
        "token.",
        "https://github.com/facebookresearch/ijepa, src/models/vision_transformer.py",
    ),
    Preset(
        "v-jepa",
        {2: _HALVES, 3: _half_for_time},
        "V-JEPA on images (row, column) and, with `uniform_power=False`, on videos "
        "(time, row, column), half of the channels for time; channels divide by 8 "
        "there, and the grid has square frames.",
        "https://github.com/facebookresearch/jepa, src/models/utils/pos_embs.py",
    ),
    Preset(
        "v-jepa-uniform-power",
        {3: _HALVES},
        "V-JEPA on videos with `uniform_power=True`, as its configurations for "
        "training have it: as many channels for time, row and column.",
        "https://github.com/facebookresearch/jepa, src/models/utils/pos_embs.py",
    ),
    Preset(
        "big-vision",
        {2: {**_COLUMN_FIRST, "endpoint": True}},
        "The fixed 2D encoding of big_vision: the column in the first half, and the "
        "longest wave of exactly 10,000.",
        "https://github.com/google-research/big_vision, big_vision/models/vit.py",
    ),
    Preset(
        "simple-vit",
        {
            2: {**_COLUMN_FIRST, "endpoint": True},
            3: {
                **_PADDED,
                "axis_order": [2, 1, 0],
                "endpoint": True,
            },
        },
        "The simple ViT of vit-pytorch, in 2D that of big_vision, in 3D the last axis "
        "first and zeros in the channels that do not divide.",
        "arXiv:2205.01580; https://github.com/lucidrains/vit-pytorch, "
        "vit_pytorch/simple_vit_3d.py",
    ),
    Preset(
        "timm-sincos2d",
        {2: {"layout": "phase axis freq"}},
        "timm's `build_sincos2d_pos_embed` as it is by default: the sines of rows and "
        "columns, then their cosines; with `interleave_sin_cos=True` it is "
        "`layout='concatenated'`, and with `reverse_coord=True` right for square grids "
        "alone.",
        "https://github.com/huggingface/pytorch-image-models, "
        "timm/layers/pos_embed_sincos.py",
    ),
    Preset(
        "pixart",
        {2: {**_COLUMN_FIRST, "coordinate_range": [0.0, 32.0]}},
        "PixArt, whose coordinates end at a base size over an interpolation scale, "
        "whatever the size of the image: 32 for the models of 512 and 1,024 pixels "
        "(`coordinate_range=[0, 16]` for 256).",
        "https://github.com/PixArt-alpha/PixArt-alpha, diffusion/model/nets/PixArt.py",
    ),
    Preset(
        "monai",
        {2: _COLUMN_FIRST, 3: {**_HALVES, "axis_order": [1, 0, 2]}},
        "The sin-cos encoding of MONAI's patch embedding: the second axis comes first, "
        "in 3D as well.",
        "https://github.com/Project-MONAI/MONAI, "
        "monai/networks/blocks/pos_embed_utils.py",
    ),
    Preset(
        "videomae",
        {1: _INTERLEAVED},
        "VideoMAE, which counts the tubes of a video in one sequence, frame by frame "
        "and row by row: flatten them first.",
        "https://github.com/MCG-NJU/VideoMAE, modeling_finetune.py",
    ),
    Preset(
        "cogvideox",
        {3: _quarter_for_time},
        "CogVideoX-2b on (time, row, column): a quarter of the channels for time, then "
        "column, then row, these two over 1.875; text tokens have zeros, and channels "
        "divide by 16.",
        "https://github.com/huggingface/diffusers, src/diffusers/models/embeddings.py",
    ),
    Preset(
        "prithvi",
        {3: _sixteenths},
        "Prithvi on (time, row, column): column, row, time with 6, 6 and 4 of every 16 "
        "channels; its class token has a row of zeros (`prefix_tokens=1` with `grid`), "
        "and the encodings of dates and places are added outside.",
        "https://huggingface.co/ibm-nasa-geospatial/Prithvi-EO-2.0-300M, "
        "prithvi_mae.py",
    ),
    Preset(
        "nerf",
        {ANY: _octaves},
        "NeRF's points as its code has them, without a factor pi: the frequencies 1, "
        "2, 4 and so on, as many as the channels allow (60 for 10 in space); raw "
        "coordinates are not waves: concatenate them yourself.",
        "https://github.com/bmild/nerf, run_nerf_helpers.py",
    ),
    Preset(
        "perceiver",
        {ANY: _up_to_nyquist},
        "The Fourier features of Perceiver with the bands of 224 positions an axis, as "
        "on ImageNet (for n of them, `frequencies=numpy.linspace(1, n / 2, bands)`); "
        "raw coordinates are not waves: concatenate them yourself, before.",
        "https://github.com/google-deepmind/deepmind-research, "
        "perceiver/position_encoding.py",
    ),
    Preset(
        "u-tae",
        {1: {"max_wavelength": 1000.0}},
        "The dates of U-TAE: give days as `positions`; channels are those of one head, "
        "and the original repeats them for every head.",
        "https://github.com/VSainteuf/utae-paps, src/backbones/positional_encoding.py",
    ),
]

PRESETS = {row.name: row for row in _ROWS}


def presets(rank: int | None = None) -> dict[str, str]:
    """The published encodings that `from_preset` and `preset=` know.

    Args:
        rank: Integer or `None`. The number of axes that they are for. `None` means any.
            Defaults to `None`.

    Returns:
        Dictionary from the name of a preset to a sentence about it: what it stands for,
        and what the original does outside of it.

    Raises:
        TypeError: If `rank` is no integer.
        ValueError: If `rank` is not positive.

    Example:
        >>> import keras_posenc
        >>> "whisper" in keras_posenc.presets(rank=1)
        True
        >>> keras_posenc.presets()["positional-encodings"]
        'The package of that name from 5.1 on, which is also the default here.'

    Reference:
        - `docs/porting.md`: how to find out which of them a model uses.
    """
    if rank is not None:
        positive_integer("rank", rank, hint=" or None")
    return {
        row.name: row.sentence
        for row in PRESETS.values()
        if rank is None or row.ranks is None or rank in row.ranks
    }


def preset_options(
    preset: Any,
    rank: int,
    channels: int | None,
    overrides: Mapping[str, Any],
) -> dict[str, Any]:
    """The options of a preset, and what wins over them."""
    row = preset_row(preset)
    if row.ranks is not None and rank not in row.ranks:
        ranks = " or ".join(f"rank {other}" for other in row.ranks)
        raise wrong_rank(preset, rank, ranks)
    options = row.options(rank, channels)
    for name, value in overrides.items():
        for replaced in _replaced_by(name, value):
            options.pop(replaced, None)
    return {**options, **overrides}


def _replaced_by(name: str, value: Any) -> tuple[str, ...]:
    """The options that an override leaves without a meaning."""
    if name == "frequencies" and value is not None:
        return "max_wavelength", "endpoint"
    if name in ("max_wavelength", "endpoint"):
        return ("frequencies",)
    if name == "coordinate_range" and value is None:
        return "align_corners", "eps"
    if name == "align_corners" and value:
        return ("eps",)
    return ()


def wrong_rank(preset: str, rank: int, use: str) -> ValueError:
    return ValueError(
        f"`preset` must be one for rank {rank}. Use {use} for this one. "
        f"Received: preset={shown(preset)}"
    )


def preset_row(preset: Any) -> Preset:
    if not isinstance(preset, str):
        raise TypeError(
            "`preset` must be a string, the name of a preset. "
            f"Received: preset={shown(preset)}"
        )
    if preset not in PRESETS:
        close = difflib.get_close_matches(preset.lower(), PRESETS, n=5, cutoff=0.5)
        hint = f"; close ones are {', '.join(close)}" if close else ""
        raise ValueError(
            f"`preset` must be one of the names in `keras_posenc.presets()`{hint}. "
            f"Received: preset={shown(preset)}"
        )
    return PRESETS[preset]
