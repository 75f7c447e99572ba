"""The command line: presets in a table, an encoding as a picture, or as a file.

It uses the package as anybody does. Which values an option may have, and what they
mean, it does not know; `_OPTIONS` says how they are written.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import secrets
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import keras
import numpy as np

import keras_posenc
from keras_posenc import PositionalEncoding, plot, presets, sinusoidal_table
from keras_posenc._view import view_of  # the one private name

_PROGRAM = "python -m keras_posenc"
_DESCRIPTION = """\
Sinusoidal positional encodings. Without a command: the version, the backend of Keras,
and the presets, which are published encodings by name.
"""
_EXAMPLES = """\
examples:
  python -m keras_posenc show mae --shape 14 14 --channels 64 -o mae.png
  python -m keras_posenc show --shape 100 --channels 64 --plot similarity -o near.svg
  python -m keras_posenc table whisper --shape 1500 --channels 384 -o table.npy
"""
_DOTS_PER_INCH = 160


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command, and returns its exit code.

    1 where a file or a library is missing. argparse exits by itself, after wrong usage
    with 2. A shape that is too large is wrong usage, whether for any array or for the
    memory of this machine.
    """
    words = sys.argv[1:] if arguments is None else arguments
    given, unknown = _parser().parse_known_args([*map(_told_from_flags, words)])
    if unknown:
        # Before what is missing, which may be a flag that was misspelt.
        given.parser.error(_of_unknown_words([*map(str.strip, unknown)], given))
    try:
        given.run(given)
        sys.stdout.flush()  # here, where an error can still be told
    except BrokenPipeError:
        # Who read has enough. Python would write again as it ends, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        given.parser.error(str(error) or "not enough memory")
    except (ImportError, OSError, RuntimeError) as error:  # the last, without LaTeX
        print(f"{_PROGRAM}: error: {error}", file=sys.stderr)
        return 1
    return 0


def _told_from_flags(word: str) -> str:
    """A negative number after a space: argparse takes -1e-3 for a flag, not -0.001."""
    with contextlib.suppress(ValueError):
        return f" {word}" if float(word) < 0 else word
    return word


def _of_unknown_words(words: list[str], given: argparse.Namespace) -> str:
    hints = []
    for word in words:
        flag, _, _ = word.partition("=")
        if flag not in _FLAGS:  # of this command or of the other
            close = difflib.get_close_matches(flag, _FLAGS, n=1, cutoff=0.75)
            hints += [f"{known} for {word}" for known in close]
    hint = f" (perhaps {', '.join(hints)}?)" if hints else ""
    if all(map(str.isdigit, words)) and given.shape is None:
        hint = " (sizes follow --shape)"
    return f"unrecognized arguments: {' '.join(words)}{hint}"


# --- What can be written -------------------------------------------------------------


# argparse shows the names of these two functions: "invalid number value: 'x'".
def size(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(
        f"sizes are positive integers, as in 14 20. Received: {text.strip()}"
    )


def number(text: str) -> float | None:
    # Whether it must be an integer, or may be none, is for the package to say.
    if text == "none":
        return None
    try:
        return int(text)
    except ValueError:
        return float(text)


_YES_OR_NO: dict[str, Any] = {"action": argparse.BooleanOptionalAction}
_WORDS: dict[str, Any] = {"metavar": "WORDS"}
_NUMBERS: dict[str, Any] = {"type": number, "nargs": "+", "metavar": "NUMBER"}
_LISTS: dict[str, Any] = {**_NUMBERS, "action": "append"}

# The options of the package: how each is written, and what it is.
_OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "max_wavelength": (_NUMBERS, "2 pi times this is nearly the longest wavelength"),
    "endpoint": (_YES_OR_NO, "whether the longest wave has exactly that length"),
    "frequencies": (_LISTS, "radians per position; the flag once, or for each axis"),
    "layout": (_WORDS, "interleaved, concatenated, or 'axis phase freq' in any order"),
    "cos_first": (_YES_OR_NO, "whether cosines come before sines"),
    "axis_order": (_NUMBERS, "which axis fills the first channels, which the next"),
    "split": (_NUMBERS, "how many channels each axis has"),
    "remainder": (_WORDS, "truncate, pad or error, where axes cannot share equally"),
    "offset": (_NUMBERS, "what is added to positions"),
    "scale": (_NUMBERS, "what positions are multiplied by, after that"),
    "coordinate_range": (_NUMBERS, "low and high, between which positions spread"),
    "align_corners": (_YES_OR_NO, "whether the last position is exactly at high"),
    "eps": (_NUMBERS, "what is added to the size, by which positions are divided"),
}
# Of these, one that is written stands for itself, not for a list of one.
_ONE_IS_NO_LIST = ("max_wavelength", "frequencies", "offset", "scale", "eps")
_OPTIONS_HELP = """\
They win over those of the preset. The word none stands for None. Numbers that belong to
an axis are one for all axes, or one for each. The docstring of PositionalEncoding says
more, and the defaults.
"""


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


_OWN_FLAGS = ("--shape", "--channels", "--plot", "--position", "--dtype", "--output")
_FLAGS = (*_OWN_FLAGS, *map(_flag, _OPTIONS))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=_version())
    parser.set_defaults(parser=parser, run=_print_presets)
    commands = parser.add_subparsers(title="commands", metavar="command")

    show = _add_command(commands, "show", "draw an encoding", _draw)
    show.add_argument(
        "--plot",
        choices=("encoding", "similarity", "spectrum"),
        help="what to draw: the numbers, the dot products with one position, or the "
        "wavelengths of the channels (default: encoding)",
    )
    place = "the one position of --plot similarity, one index for each axis"
    show.add_argument("--position", type=int, nargs="+", metavar="INDEX", help=place)
    picture = "a .png, .svg or .pdf file, or another kind that matplotlib writes"
    show.add_argument("-o", "--output", type=Path, help=picture)

    table = _add_command(commands, "table", "write an encoding", _save)
    table.set_defaults(plot=None, position=None)
    table.add_argument(
        "--dtype",
        # What a .npy file can say that it has; it knows no bfloat16.
        choices=("float16", "float32", "float64"),
        default="float32",
        help="type of the numbers (default: %(default)s)",
    )
    table.add_argument("-o", "--output", type=Path, help="a .npy file")
    return parser


def _add_command(
    commands: Any, name: str, does: str, write: Callable[..., None]
) -> argparse.ArgumentParser:
    """A parser of what says which encoding, on which grid."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=does,
        # Of all its flags argparse would write 20 lines before every error.
        usage=f"{_PROGRAM} {name} [-h] [preset] --shape SIZE [SIZE ...] "
        "--channels NUMBER [option ...]",
        epilog="Without --output, prints a summary of the encoding.",
        allow_abbrev=False,
    )
    parser.set_defaults(parser=parser, run=_show_or_write, write=write)
    parser.add_argument("preset", nargs="?", help="the name of a published encoding")
    sizes = "sizes of the grid, as many as it has axes"
    parser.add_argument("--shape", type=size, nargs="+", metavar="SIZE", help=sizes)
    numbers = "how many numbers encode a position"
    parser.add_argument("--channels", type=int, metavar="NUMBER", help=numbers)
    options = parser.add_argument_group("options of the encoding", _OPTIONS_HELP)
    for option, (form, meaning) in _OPTIONS.items():
        # No default: only what is given wins over a preset.
        form = {**form, "default": argparse.SUPPRESS, "help": meaning}
        options.add_argument(_flag(option), **form)
    return parser


def _given_options(given: argparse.Namespace) -> dict[str, Any]:
    options = {name: getattr(given, name) for name in _OPTIONS if name in given}
    for name in _ONE_IS_NO_LIST:
        if len(options.get(name, ())) == 1:
            (options[name],) = options[name]
    return {name: None if v == [None] else v for name, v in options.items()}


# --- What is done --------------------------------------------------------------------


def _print_presets(given: argparse.Namespace) -> None:
    print(f"{_version()}, Keras {keras.__version__} on {keras.config.backend()}\n")
    names = max(map(len, presets()))
    # To a file or a pipe, whole; on a terminal a line for each, but if it is narrow.
    columns = shutil.get_terminal_size(fallback=(1000, 0)).columns
    width = max(columns, 80) - names - len("  1, 2, 3   ")
    print(f"{'preset':{names}}  {'axes':8}  what it is")
    for name, said in presets().items():
        sentence = textwrap.shorten(said, width, placeholder=" ...")
        print(f"{name:{names}}  {_axes(name):8}  {sentence}")
    print(f"\n{_PROGRAM} --help says how to draw one, or write its table.")


def _axes(preset: str) -> str:
    # What is for four axes is for any number of them.
    ranks = [rank for rank in (1, 2, 3, 4) if preset in presets(rank)]
    return "any" if 4 in ranks else ", ".join(map(str, ranks))


def _version() -> str:
    return f"keras-posenc {keras_posenc.__version__}"


def _show_or_write(given: argparse.Namespace) -> None:
    layer = _layer(given)
    if given.position is not None:
        if given.plot != "similarity":
            raise ValueError("--position is for --plot similarity alone")
        plot.checked_position(given.position, tuple(given.shape))
    if given.output is not None:
        given.write(given, layer)
        print(f"wrote {given.output}")
        return
    _print_summary(given, layer)
    if given.plot is not None:
        print("nothing drawn: -o names the file of a picture", file=sys.stderr)


def _layer(given: argparse.Namespace) -> PositionalEncoding:
    missing = [n for n in ("shape", "channels") if getattr(given, n) is None]
    if missing:
        flags = ", ".join(map(_flag, missing))
        raise ValueError(f"the following arguments are required: {flags}")
    preset, rank = given.preset, len(given.shape)
    chosen = {"rank": rank, "channels": given.channels, **_given_options(given)}
    if preset in presets() and preset not in presets(rank):
        raise ValueError(
            f"{preset} takes as many sizes after --shape as it has axes, "
            f"{_axes(preset)}. Received: --shape {' '.join(map(str, given.shape))}"
        )
    with warnings.catch_warnings():
        # Of axes without channels, which a summary tells.
        warnings.simplefilter("ignore")
        if preset is None:
            return PositionalEncoding(**chosen)
        return PositionalEncoding.from_preset(preset, **chosen)


def _draw(given: argparse.Namespace, layer: PositionalEncoding) -> None:
    pyplot = plot.pyplot()
    pyplot.switch_backend("agg")  # which opens no window
    if given.plot == "similarity":
        figure, _ = plot.similarity(layer, given.position, given.shape)
    else:
        draw = plot.spectrum if given.plot == "spectrum" else plot.encoding
        figure, _ = draw(layer, given.shape)
    kind = given.output.suffix.lower().lstrip(".")
    with _written(given.output) as file:
        figure.savefig(file, format=kind, dpi=_DOTS_PER_INCH)
    pyplot.close(figure)


def _save(given: argparse.Namespace, layer: PositionalEncoding) -> None:
    if given.output.suffix.lower() != ".npy":
        raise ValueError(f"--output must end in .npy. Received: {given.output}")
    chosen = {"dtype": given.dtype, "preset": given.preset, **_given_options(given)}
    table = sinusoidal_table(given.shape, given.channels, **chosen)
    with _written(given.output) as file:
        np.save(_Plain(file), table)


def _print_summary(given: argparse.Namespace, layer: PositionalEncoding) -> None:
    waves = view_of(layer, given.shape, given.channels).spectrum()
    sizes = " x ".join(map(str, given.shape))
    print(
        f"{given.preset or 'no preset'}: {sizes} positions, {given.channels} channels"
    )
    options = layer.get_config()
    plain = PositionalEncoding(len(given.shape)).get_config()
    chosen = [
        f"{name}={options[name]!r}"
        for name in _OPTIONS
        if options.get(name) != plain.get(name)
    ]
    print("options:", ", ".join(chosen) or "all at their defaults")
    for axis in range(len(given.shape)):
        along = (waves.axis == axis) & ~waves.constant
        if not along.any():
            print(f"axis {axis}: no channel, so positions along it are not encoded")
            continue
        lengths = waves.wavelength[along]
        print(
            f"axis {axis}: {along.sum()} channels, wavelengths from "
            f"{lengths.min():.4g} to {lengths.max():.4g} positions; channels of less "
            f"than a tenth of a turn: {(waves.barely & along).sum()}, aliased: "
            f"{(waves.aliased & along).sum()}"
        )
    if waves.constant.any():
        print(f"constant: {waves.constant.sum()} channels")


class _Plain:
    """A file for NumPy, which would pass Python by if it knew that it is one.

    It would then refuse pipes, and not say why a disk takes no more.
    """

    def __init__(self, file: BinaryIO):
        self.write = file.write


@contextlib.contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    """What is written in the block, and becomes `path` at its end.

    Where that fails, as on a full disk, there is the older file, or none.
    """
    # A link stays one: what it leads to is replaced.
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".keras_posenc-{secrets.token_hex(8)}")
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:  # a pipe or a device
                yield file
            return
        with beside.open("xb") as file:
            if path.exists():
                path.open("ab").close()  # refused where it must not be written
                shutil.copymode(path, beside)
            yield file
        beside.replace(target)
    except OSError as error:
        reason = error.strerror or error
        raise OSError(f"{path} was not written: {reason}") from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
