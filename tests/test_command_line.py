"""`python -m keras_posenc`: what it prints, writes, and refuses."""

from __future__ import annotations

import inspect
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import matplotlib.pyplot as plt
import numpy as np
import pytest

import keras_posenc as kp
from helpers.internals import OPTION_NAMES
from keras_posenc import plot
from keras_posenc._command_line import main

TABLE = "table --shape 6 5 --channels 16"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    # The width of what argparse and the table of presets print.
    monkeypatch.setenv("COLUMNS", "100")


def run(line: str) -> None:
    assert main(shlex.split(line)) == 0


def written(line: str) -> np.ndarray:
    run(f"{line} -o table.npy")
    return np.load("table.npy")


def usage_error(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of wrong usage, on stderr alone."""
    with pytest.raises(SystemExit) as stopped:
        main(shlex.split(line))
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("usage: python -m keras_posenc")
    return printed.err


# --- No command ----------------------------------------------------------------------


def test_alone_it_prints_version_backend_and_presets(
    capsys: pytest.CaptureFixture[str],
):
    run("")
    first, _, head, *rows = capsys.readouterr().out.splitlines()
    backend = keras.backend.backend()
    assert first == f"keras-posenc {kp.__version__}, Keras {keras.__version__} on " + (
        backend
    )
    assert head.split() == ["preset", "axes", "what", "it", "is"]
    assert [row.split()[0] for row in rows[:-2]] == [*kp.presets()]
    assert max(map(len, rows)) <= 100
    (mae,) = [row for row in rows if row.startswith("mae ")]
    assert mae.split()[1:3] == ["1,", "2"]
    (nerf,) = [row for row in rows if row.startswith("nerf ")]
    assert nerf.split()[1] == "any"


def test_to_a_pipe_it_prints_whole_sentences(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("COLUMNS")
    # Where no terminal says its width, there is none.
    monkeypatch.setattr(sys, "__stdout__", None)
    run("")
    printed = capsys.readouterr().out
    assert [name for name, said in kp.presets().items() if said not in printed] == []


@pytest.mark.parametrize("line", ["--help", "show --help", "table --help", "--version"])
def test_help_goes_to_stdout(line: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        main(shlex.split(line))
    assert stopped.value.code == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out


# --- Tables --------------------------------------------------------------------------


def test_the_file_has_the_numbers_of_sinusoidal_table():
    table = written("table whisper --shape 1500 --channels 384")
    wanted = kp.sinusoidal_table(1500, 384, preset="whisper")
    assert table.dtype == "float32"
    np.testing.assert_array_equal(table, wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_file_has_the_dtype_that_is_asked_for(dtype: str):
    table = written(f"{TABLE} --dtype {dtype}")
    assert table.dtype == dtype
    np.testing.assert_array_equal(table, kp.sinusoidal_table((6, 5), 16, dtype=dtype))


OPTIONS: dict[str, tuple[str, Any]] = {
    "max_wavelength": ("50", 50.0),
    "max_wavelength, per axis": ("50 70", [50.0, 70.0]),
    "endpoint": ("", True),
    "frequencies": ("1 2 3 -0.5", [1.0, 2.0, 3.0, -0.5]),
    "frequencies, per axis": (
        "1 2 3 4 --frequencies 5 6 7 8",
        [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]],
    ),
    "layout": ("concatenated", "concatenated"),
    "layout, words": ("'phase axis freq'", "phase axis freq"),
    "cos_first": ("", True),
    "axis_order": ("1 0", [1, 0]),
    "split": ("4 12", [4, 12]),
    "remainder": ("pad --channels 18", "pad"),
    "offset": ("0.5", 0.5),
    "offset, per axis": ("-1 2", [-1.0, 2.0]),
    "scale": ("2", 2.0),
    "coordinate_range": ("-1 1", [-1.0, 1.0]),
    "align_corners": ("--coordinate-range 0 1", True),
    "eps": ("1e-1 --coordinate-range 0 1", 0.1),
}
BESIDE = {
    "align_corners": {"coordinate_range": [0.0, 1.0]},
    "eps": {"coordinate_range": [0.0, 1.0]},
}


def option_of(case: str) -> str:
    return case.partition(",")[0]


def test_every_option_has_a_case():
    assert list(dict.fromkeys(map(option_of, OPTIONS))) == [*OPTION_NAMES]


@pytest.mark.parametrize("case", OPTIONS)
def test_every_option_is_a_flag(case: str):
    name, (text, value) = option_of(case), OPTIONS[case]
    channels = 18 if name == "remainder" else 16
    table = written(f"{TABLE} --{name.replace('_', '-')} {text}")
    options = {name: value, **BESIDE.get(name, {})}
    wanted = kp.sinusoidal_table((6, 5), channels, **options)
    np.testing.assert_array_equal(table, wanted)
    assert not np.array_equal(
        table,
        kp.sinusoidal_table((6, 5), channels, **BESIDE.get(name, {})),
    )


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ("--coordinate-range none", {"coordinate_range": None}),
        ("--coordinate-range 0 5 --eps 0", {"coordinate_range": [0, 5], "eps": 0.0}),
        ("--offset 3", {"offset": 3.0}),
    ],
)
def test_a_flag_wins_over_the_preset(flags: str, options: dict[str, Any]):
    table = written(f"table detr --shape 6 5 --channels 16 {flags}")
    wanted = kp.sinusoidal_table((6, 5), 16, preset="detr", **options)
    np.testing.assert_array_equal(table, wanted)
    assert not np.array_equal(table, kp.sinusoidal_table((6, 5), 16, preset="detr"))


def test_a_flag_can_say_no():
    table = written("table whisper --shape 9 --channels 8 --no-endpoint")
    wanted = kp.sinusoidal_table(9, 8, preset="whisper", endpoint=False)
    np.testing.assert_array_equal(table, wanted)


@pytest.mark.parametrize("command", ["show", "table"])
def test_help_has_the_words_of_the_docstring(
    command: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    said = " ".join(inspect.getdoc(kp.PositionalEncoding).split())
    for_eps = "Float. See `coordinate_range`. Not negative. Defaults to `0.0`."
    for_layout = "The order in which axis, frequency and phase (sine, cosine) flatten"
    assert for_eps in said
    assert for_eps in printed
    assert for_layout in said
    assert for_layout in printed
    flags = [f"--{name.replace('_', '-')} " for name in OPTION_NAMES]
    assert [flag for flag in flags if flag not in printed.replace(",", " ")] == []


# --- Summaries -----------------------------------------------------------------------


@pytest.mark.parametrize("command", ["show", "table"])
def test_without_output_there_is_a_summary(
    command: str, capsys: pytest.CaptureFixture[str]
):
    run(f"{command} mae --shape 14 20 --channels 64")
    # Frequencies 10000**(-k / 16): wavelengths of 140 and more from k = 6 on, of 200
    # and more from k = 7 on; two channels each.
    assert capsys.readouterr().out.splitlines() == [
        "mae: 14 x 20 positions, 64 channels",
        "options: layout='concatenated', axis_order=[1, 0]",
        "axis 0: 32 channels, wavelengths from 6.283 to 3.533e+04 positions; "
        "channels of less than a tenth of a turn: 20, aliased: 0",
        "axis 1: 32 channels, wavelengths from 6.283 to 3.533e+04 positions; "
        "channels of less than a tenth of a turn: 18, aliased: 0",
    ]
    assert list(Path().iterdir()) == []


def test_a_summary_tells_of_axes_and_channels_that_say_nothing(
    capsys: pytest.CaptureFixture[str],
):
    run("table --shape 14 20 --channels 6 --remainder pad --frequencies 4")
    assert capsys.readouterr().out.splitlines() == [
        "no preset: 14 x 20 positions, 6 channels",
        "options: frequencies=[4.0], remainder='pad'",
        "axis 0: 2 channels, wavelengths from 1.571 to 1.571 positions; "
        "channels of less than a tenth of a turn: 0, aliased: 2",
        "axis 1: 2 channels, wavelengths from 1.571 to 1.571 positions; "
        "channels of less than a tenth of a turn: 0, aliased: 2",
        "constant: 2 channels",
    ]
    run("table --shape 14 20 --channels 2")
    printed = capsys.readouterr().out
    assert "options: all at their defaults" in printed
    assert "axis 1: no channel, so positions along it are not encoded" in printed


# --- Pictures ------------------------------------------------------------------------


PICTURES: dict[str, tuple[Callable[[], Any], tuple[int, int]]] = {
    "show --shape 100 --channels 64": (
        lambda: plot.encoding("positional-encodings", 100, channels=64),
        (1088, 576),
    ),
    "show mae --shape 14 9 --channels 8": (
        lambda: plot.encoding("mae", (14, 9), channels=8),
        (1120, 859),
    ),
    "show whisper --shape 100 --channels 64 --plot spectrum": (
        lambda: plot.spectrum("whisper", 100, channels=64),
        (1088, 704),
    ),
    "show mae --shape 14 14 --channels 64 --plot similarity": (
        lambda: plot.similarity("mae", None, (14, 14), channels=64),
        (896, 736),
    ),
    "show whisper --shape 50 --channels 64 --plot similarity --position 3": (
        lambda: plot.similarity("whisper", 3, 50, channels=64),
        (1088, 512),
    ),
}


@pytest.mark.parametrize("line", PICTURES)
def test_the_picture_is_that_of_the_function(
    line: str, capsys: pytest.CaptureFixture[str]
):
    draw, size = PICTURES[line]
    run(f"{line} -o picture.png")
    assert capsys.readouterr().out == "wrote picture.png\n"
    assert plt.get_fignums() == []
    figure, _ = draw()
    figure.savefig("wanted.png", dpi=160)
    plt.close(figure)
    pixels = plt.imread("picture.png")
    height, width, _ = pixels.shape
    assert (width, height) == size
    np.testing.assert_array_equal(pixels, plt.imread("wanted.png"))


def test_without_a_file_nothing_is_drawn(capsys: pytest.CaptureFixture[str]):
    run("show mae --shape 4 4 --channels 16 --plot similarity")
    printed = capsys.readouterr()
    assert printed.out.startswith("mae: 4 x 4 positions")
    assert printed.err == "nothing drawn: -o names the file of a picture\n"
    run("show mae --shape 4 4 --channels 16")
    assert capsys.readouterr().err == ""


def test_vector_graphics_are_written():
    run("show mae --shape 4 4 --channels 16 -o mae.svg")
    assert "<svg" in Path("mae.svg").read_text()


# --- What is refused -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("shwo", "invalid choice: 'shwo'"),
        ("table wisper --shape 9 --channels 8", "close ones are whisper"),
        ("show detr --shape 9 --channels 8", "Use --shape with 2 sizes for this one"),
        ("show ddpm --shape 9 9 --channels 8", "Use --shape with 1 size for this one"),
        ("table --channels 8", "required: --shape"),
        # argparse takes the 8 for the name of a preset.
        ("table --shape 9 --chanels 8", "--chanels (perhaps --channels for --chan"),
        ("show detr 10 12", "unrecognized arguments: 10 12 (sizes follow --shape)"),
        ("table --shape 9 --channels 8 --zzz", "unrecognized arguments: --zzz\n"),
        ("table --shape 9", "required: --channels"),
        ("show", "required: --shape, --channels"),
        ("table --shape 9 --channels 8 --plot pie", "arguments: --plot\n"),
        ("show -- mae --shape 4 --channels 8", "--shape 4 --channels 8\n"),
        ("show mae --shape 9 9 --channels 8 12", "arguments: 12\n"),
        ("--shape=4", "unrecognized arguments: --shape=4\n"),
        (f"{TABLE} --max-wave=9", "(perhaps --max-wavelength for --max-wave=9?)"),
        (f"{TABLE} --max-wave 9", "(perhaps --max-wavelength for --max-wave?)"),
        (
            "table --shape 14x20 --channels 8",
            "--shape: invalid integer: '14x20' (the sizes of two axes are written 14 ",
        ),
        ("table --shape 0 --channels 8", "`shape` must be a positive integer"),
        ("table --shape 9 --channels -8", "`channels` must be a positive integer"),
        (f"table --channels 8 --shape {'2 ' * 63}", "`len(shape)` must be at most 62"),
        (f"{TABLE} --layout ordered", "`layout` must be 'interleaved'"),
        (f"{TABLE} --eps 1", "`eps` must be left at its default"),
        (f"{TABLE} --split 4 none", "`split` must hold an even number of channels"),
        (f"{TABLE} --split 4 x", "argument --split: invalid integer value: 'x'"),
        (f"{TABLE} --scale x", "argument --scale: invalid number value: 'x'"),
        (f"{TABLE} --scal=1", "unrecognized arguments: --scal=1"),
        (f"{TABLE} --dtype int8", "argument --dtype: invalid choice: 'int8'"),
        (f"{TABLE} -o table.txt", "--output must end in .npy. Received: table.txt"),
        ("show --shape 9 --channels 8 -o a.b", "--output must end in"),
        ("show --shape 9 --channels 8 --plot pie", "argument --plot: invalid choice"),
        ("show --shape 9 --channels 8 --position 2", "--position is for --plot sim"),
        (
            "show --shape 9 --channels 8 --plot similarity --position 9 -o a.png",
            "`position` must be a place in a grid of shape (9,)",
        ),
        (
            "show --shape 9 --channels 8 --plot similarity --position 9",
            "`position` must be a place in a grid of shape (9,)",
        ),
        # LaTeX would have to be there.
        ("show --shape 9 --channels 8 -o a.pgf", "--output must end in"),
        (f"table --shape 1{'0' * 22} --channels 8 -o a.npy", "dimension exceeded"),
        (
            "show --shape 2 2 2 2 --channels 8 -o a.png",
            "`x` must have at most 3 axes",
        ),
    ],
)
def test_wrong_usage_is_refused(
    line: str, message: str, capsys: pytest.CaptureFixture[str]
):
    assert message in usage_error(line, capsys)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    "line", [f"{TABLE} -o no/a.npy", "show" + TABLE[5:] + " -o no/a.png"]
)
def test_a_missing_folder_is_an_error(line: str, capsys: pytest.CaptureFixture[str]):
    assert main(shlex.split(line)) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("python -m keras_posenc: error: [Errno 2]")
    assert "no/a." in printed.err


def test_without_matplotlib_tables_are_written_and_pictures_are_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert written(TABLE).shape == (6, 5, 16)
    capsys.readouterr()
    assert main(shlex.split("show --shape 9 --channels 8 -o a.png")) == 1
    assert "pip install 'keras-posenc[plot]'" in capsys.readouterr().err


def test_a_suffix_may_be_in_capitals(capsys: pytest.CaptureFixture[str]):
    run(f"{TABLE} -o TABLE.NPY")
    assert capsys.readouterr().out == "wrote TABLE.NPY\n"
    assert [path.name for path in Path().iterdir()] == ["TABLE.NPY"]
    np.testing.assert_array_equal(np.load("TABLE.NPY"), written(TABLE))


@pytest.mark.parametrize(
    ("numbers", "offset"),
    [("-1e-3 0.5", [-0.001, 0.5]), ("2 -.5E+1", [2, -5]), ("-1.5e2", -150)],
)
def test_negative_numbers_with_exponents_are_numbers(numbers: str, offset: Any):
    wanted = kp.sinusoidal_table((6, 5), 16, offset=offset)
    np.testing.assert_array_equal(written(f"{TABLE} --offset {numbers}"), wanted)


# --- As a process --------------------------------------------------------------------


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "keras_posenc", *arguments],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )


def test_as_a_process_it_writes():
    line = "table mae --shape 3 4 --channels 8 -o table.npy"
    done = process(*line.split())
    assert (done.returncode, done.stdout) == (0, "wrote table.npy\n")
    wanted = kp.sinusoidal_table((3, 4), 8, preset="mae")
    np.testing.assert_array_equal(np.load("table.npy"), wanted)


@pytest.mark.parametrize(
    ("target", "said"), [("| true", ""), ("> /dev/full", "No space left")]
)
def test_output_that_nobody_takes_is_no_traceback(target: str, said: str):
    line = f"{shlex.quote(sys.executable)} -m keras_posenc {target}"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_as_a_process_it_refuses_without_a_traceback():
    done = process("show", "mea", "--shape", "3", "--channels", "8")
    assert (done.returncode, done.stdout) == (2, "")
    assert "close ones are mae" in done.stderr
    assert "Traceback" not in done.stderr
