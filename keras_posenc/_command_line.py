"""The command line: presets in a table, an encoding as a picture, or as a file.

The flags of options are made of the package's list of them, and their help is that of
`PositionalEncoding`, so that a new option is a flag by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import inspect
import os
import re
import shutil
import sys
import textwrap
import typing
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

import keras_posenc
from keras_posenc import plot
from keras_posenc._checks import grid_rank, positive_integer
from keras_posenc._encoding import PositionalEncoding
from keras_posenc._presets import PRESETS, Preset, preset_options
from keras_posenc._sinusoidal import OPTION_NAMES, WaveArguments, WaveOptions
from keras_posenc._view import View

# What a .npy file can say that it has; it knows no bfloat16.
_DTYPES = ("float16", "float32", "float64")
_PLOTS: dict[str, Callable[..., Any]] = {
    "encoding": plot.encoding,
    "similarity": plot.similarity,
    "spectrum": plot.spectrum,
}
_DOTS_PER_INCH = 160

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command, and returns its exit code.

    1 where a file, a library or memory is missing. argparse exits by itself, after
    wrong usage with 2.
    """
    parser = _parser()
    words = sys.argv[1:] if arguments is None else arguments
    given, unknown = parser.parse_known_args([_without_exponent(w) for w in words])
    command = getattr(given, "parser", parser)
    if unknown:
        # Before what is missing, which may be a flag that was misspelt.
        command.error(_of_unknown_words(unknown, command, given))
    try:
        given.run(given)
        sys.stdout.flush()  # here, where an error can still be told
    except BrokenPipeError:
        # Who read has enough. Python would write again as it ends, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ImportError, MemoryError, OSError) as error:
        print(f"{parser.prog}: error: {error}", file=sys.stderr)
        return 1
    return 0


def _without_exponent(word: str) -> str:
    """The same number: argparse takes -1e-3 for a flag, and -0.001 for a number."""
    if re.fullmatch(r"-\d*\.?\d+[eE][+-]?\d{1,3}", word):
        return np.format_float_positional(float(word), trim="-")
    return word


def _of_unknown_words(
    words: list[str], parser: argparse.ArgumentParser, given: argparse.Namespace
) -> str:
    lines = re.MULTILINE
    flags = re.findall(r"^  (?:-\w.*, )?(--[\w-]+)", parser.format_help(), lines)
    close = {word: _close_flag(word, flags) for word in words}
    meant = ", ".join(f"{flag} for {word}" for word, flag in close.items() if flag)
    perhaps = f" (perhaps {meant}?)" if meant else ""
    if all(map(str.isdigit, words)) and getattr(given, "shape", 0) is None:
        perhaps = " (sizes follow --shape)"
    return f"unrecognized arguments: {' '.join(words)}{perhaps}"


def _close_flag(word: str, flags: list[str]) -> str | None:
    word, _, _ = word.partition("=")
    if not word.startswith("--") or word in flags:
        return None
    longer = [flag for flag in flags if flag.startswith(word)]
    # `--plot`, a flag of the other command, is like `--split` by 0.77.
    close = longer or difflib.get_close_matches(word, flags, n=1, cutoff=0.8)
    return close[0] if close else None


# --- What can be written -------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m keras_posenc",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=_version())
    parser.set_defaults(run=_print_presets)
    commands = parser.add_subparsers(
        dest="command", title="commands", metavar="command"
    )
    show = _add_command(commands, "show", "draw an encoding", _show)
    show.add_argument(
        "--plot",
        choices=_PLOTS,
        help="what to draw: the numbers, the dot products with one position, or the "
        "wavelengths of the channels (default: encoding)",
    )
    show.add_argument(
        "--position",
        type=int,
        nargs="+",
        metavar="INDEX",
        help="the one position of --plot similarity, one index for each axis",
    )
    show.add_argument(
        "-o",
        "--output",
        type=Path,
        help="a .png, .svg or .pdf file, or another kind that matplotlib writes",
    )
    table = _add_command(commands, "table", "write an encoding", _table)
    table.add_argument(
        "--dtype",
        choices=_DTYPES,
        default="float32",
        help="type of the numbers (default: %(default)s)",
    )
    table.add_argument("-o", "--output", type=Path, help="a .npy file")
    return parser


def _add_command(
    commands: Any, name: str, does: str, run: Callable[[argparse.Namespace], None]
) -> argparse.ArgumentParser:
    """A parser of what says which encoding, on which grid."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=does,
        # Of all its flags argparse would write 20 lines before every error.
        usage=f"python -m keras_posenc {name} [-h] [preset] --shape SIZE [SIZE ...] "
        "--channels NUMBER [option ...]",
        epilog="Without --output, prints a summary of the encoding.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run, parser=parser)
    _add_encoding(parser)
    return parser


def _add_encoding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "preset",
        nargs="?",
        help="the name of a published encoding (default: none, which leaves all "
        "options at their defaults)",
    )
    parser.add_argument(
        "--shape",
        type=_size,
        nargs="+",
        metavar="SIZE",
        help="sizes of the grid, as many as it has axes",
    )
    parser.add_argument(
        "--channels",
        type=int,
        metavar="NUMBER",
        help="how many numbers encode a position",
    )
    options = parser.add_argument_group(
        "options of the encoding",
        "They win over those of the preset. The word none stands for None.",
    )
    described = _described_options()
    for name, hint in _HINTS.items():
        options.add_argument(
            f"--{name.replace('_', '-')}",
            default=argparse.SUPPRESS,  # only what is given wins over a preset
            help=described.get(name, "").replace("%", "%%"),
            **_form(hint),
        )


_HINTS = {name: typing.get_type_hints(WaveArguments)[name] for name in OPTION_NAMES}


def _form(hint: Any) -> dict[str, Any]:
    """How argparse reads an option that takes values of a type."""
    if hint is bool:
        return {"action": argparse.BooleanOptionalAction}
    if hint is str:
        return {"metavar": "WORDS"}
    if hint is float:
        return {"type": float, "metavar": "NUMBER"}
    number = _integer if Sequence[int] in typing.get_args(hint) else _real
    return {"type": number, "nargs": "+", "metavar": "NUMBER", "action": "append"}


def _size(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"invalid integer: {text!r} (the sizes of two axes are written 14 20)"
        ) from None


def _integer(text: str) -> int | None:
    return None if text == "none" else int(text)


def _real(text: str) -> float | None:
    return None if text == "none" else float(text)


# What argparse calls them where a text is no such thing.
_integer.__name__, _real.__name__ = "integer", "number"


def _given_options(given: argparse.Namespace) -> dict[str, Any]:
    return {
        name: _value(hint, getattr(given, name))
        for name, hint in _HINTS.items()
        if hasattr(given, name)
    }


def _value(hint: Any, written: Any) -> Any:
    """The value of an option, of which a flag has gathered lists of numbers."""
    if not isinstance(written, list):
        return written
    kinds = typing.get_args(hint)
    if len(written) > 1 and Sequence[Sequence[float]] in kinds:
        return written  # the flag once for each axis
    numbers = written[-1]
    alone = len(numbers) == 1 and (float in kinds or numbers[0] is None)
    return numbers[0] if alone else numbers


def _described_options() -> dict[str, str]:
    """What the docstring of `PositionalEncoding` says of each option."""
    text = inspect.getdoc(PositionalEncoding) or ""  # none under `python -OO`
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    return {name: " ".join(entry.split()) for name, entry in entries}


# --- What is done --------------------------------------------------------------------


def _print_presets(given: argparse.Namespace) -> None:
    print(f"{_version()}, Keras {keras.__version__} on {keras.config.backend()}\n")
    names = max(map(len, PRESETS))
    # To a file or a pipe, whole; on a terminal a line for each, but if it is narrow.
    columns = shutil.get_terminal_size(fallback=(1000, 0)).columns
    width = max(columns, 80) - names - len("  1, 2, 3   ")
    print(f"{'preset':{names}}  {'axes':8}  what it is")
    for row in PRESETS.values():
        sentence = textwrap.shorten(row.sentence, width, placeholder=" ...")
        print(f"{row.name:{names}}  {_axes(row):8}  {sentence}")
    print("\npython -m keras_posenc --help says how to draw one, or write its table.")


def _axes(row: Preset) -> str:
    return "any" if row.ranks is None else ", ".join(map(str, row.ranks))


def _version() -> str:
    return f"keras-posenc {keras_posenc.__version__}"


def _show(given: argparse.Namespace) -> None:
    with _usage_errors(given.parser):
        if given.position is not None and given.plot != "similarity":
            raise ValueError("--position is for --plot similarity alone")
        view = _view(given)
        if given.position is not None and view.sizes is not None:
            plot.checked_position(given.position, view.sizes)
    if given.output is None:
        _print_summary(given, view)
        if given.plot is not None:
            print("nothing drawn: -o names the file of a picture", file=sys.stderr)
        return
    pyplot = plot.pyplot()
    pyplot.switch_backend("agg")  # which opens no window
    known = pyplot.Figure().canvas.get_supported_filetypes()
    # This one takes LaTeX.
    _require_suffix(given, *(suffix for suffix in known if suffix != "pgf"))
    where = [given.position] if given.plot == "similarity" else []
    with _usage_errors(given.parser):
        figure, _ = _PLOTS[given.plot or "encoding"](view, *where)
    figure.savefig(given.output, dpi=_DOTS_PER_INCH)
    pyplot.close(figure)
    print(f"wrote {given.output}")


def _table(given: argparse.Namespace) -> None:
    with _usage_errors(given.parser):
        view = _view(given)
    if given.output is None:
        _print_summary(given, view)
        return
    _require_suffix(given, "npy")
    with _usage_errors(given.parser):
        table = view.table().astype(given.dtype)
    with given.output.open("wb") as file:  # to a path, NumPy adds a suffix to .NPY
        np.save(file, table)
    print(f"wrote {given.output}")


def _view(given: argparse.Namespace) -> View:
    """What the arguments say, or an error in the words of the package."""
    missing = [n for n in ("shape", "channels") if getattr(given, n) is None]
    if missing:
        flags = ", ".join(f"--{name}" for name in missing)
        raise ValueError(f"the following arguments are required: {flags}")
    sizes = tuple(positive_integer("shape", size) for size in given.shape)
    rank = grid_rank("len(shape)", len(sizes))
    channels = positive_integer("channels", given.channels)
    options = _given_options(given)
    if given.preset is not None:
        options = preset_options(
            given.preset,
            rank,
            channels,
            options,
        )
    return View(WaveOptions(rank, channels, **options), channels, sizes)


def _print_summary(given: argparse.Namespace, view: View) -> None:
    waves = view.spectrum()
    assert view.sizes is not None
    sizes = " x ".join(map(str, view.sizes))
    print(f"{given.preset or 'no preset'}: {sizes} positions, {view.channels} channels")
    plain = WaveOptions(len(view.sizes), view.channels).config()
    chosen = [
        f"{name}={value!r}"
        for name, value in view.options.config().items()
        if plain.get(name) != value
    ]
    print("options:", ", ".join(chosen) or "all at their defaults")
    for axis in range(len(view.sizes)):
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


def _require_suffix(given: argparse.Namespace, *known: str) -> None:
    if given.output.suffix.lower().lstrip(".") not in known:
        given.parser.error(
            f"--output must end in {', '.join(f'.{suffix}' for suffix in known)}. "
            f"Received: {given.output}"
        )


@contextlib.contextmanager
def _usage_errors(parser: argparse.ArgumentParser) -> Iterator[None]:
    """What the package says of arguments, as argparse says it: exit code 2."""
    try:
        yield
    except (TypeError, ValueError) as error:
        parser.error(str(error))
