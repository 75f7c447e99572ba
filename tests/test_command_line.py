"""`python -m keras_posenc`: what it prints, writes, and refuses."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shlex
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import matplotlib.pyplot as plt
import numpy as np
import pytest

import keras_posenc as kp
from helpers.internals import OPTION_NAMES
from keras_posenc import _start, plot
from keras_posenc._command_line import _FLAGS, _OPTIONS, main

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


def test_the_table_of_flags_has_the_options_of_the_package():
    assert [*_OPTIONS] == [*OPTION_NAMES]


@pytest.mark.parametrize("command", ["show", "table"])
def test_help_has_a_sentence_for_each_option(
    command: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert [said for _, said in _OPTIONS.values() if said not in printed] == []
    flags = {*re.findall(r"--[a-z-]+", printed)} - {"--help"}
    assert {flag for flag in flags if not flag.startswith("--no-")} <= {*_FLAGS}
    assert {f"--{name.replace('_', '-')}" for name in OPTION_NAMES} <= flags


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
        (
            "show detr --shape 9 --channels 8",
            "detr takes as many sizes after --shape as it has axes, 2. Received: ",
        ),
        ("show mae --shape 9 8 7 --channels 8", "axes, 1, 2. Received: --shape 9 8 7"),
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
            "--shape: sizes are positive integers, as in 14 20. Received: 14x20\n",
        ),
        ("table --shape 0 --channels 8", "sizes are positive integers"),
        ("table --shape -3 --channels 8", "14 20. Received: -3\n"),
        ("table --shape 9 --channels -8", "`channels` must be a positive integer"),
        (f"table --channels 8 --shape {'2 ' * 63}", "must be at most 62"),
        (f"{TABLE} --layout ordered", "`layout` must be 'interleaved'"),
        (f"{TABLE} --eps 1", "`eps` needs `coordinate_range`"),
        (f"{TABLE} --split 4 none", "`split` must be a list of even numbers"),
        (f"{TABLE} --split 4 x", "argument --split: invalid number value: 'x'"),
        (f"{TABLE} --split 4.5 11.5", "`split` must"),
        (f"{TABLE} --offset none", "`offset` must"),
        (f"{TABLE} --eps none --coordinate-range 0 1", "`eps` must"),
        (f"{TABLE} --scale x", "argument --scale: invalid number value: 'x'"),
        (f"{TABLE} --scal=1", "unrecognized arguments: --scal=1"),
        (f"{TABLE} --dtype int8", "argument --dtype: invalid choice: 'int8'"),
        (f"{TABLE} -o table.txt", "--output must end in .npy. Received: table.txt"),
        ("show --shape 9 --channels 8 -o a.b", "supported formats: "),
        ("show --shape 9 --channels 8 -o a", "supported formats: "),
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


@pytest.mark.parametrize("command", ["table", "show"])
@pytest.mark.parametrize(
    "shape", ["1" + "0" * 23, "10000000000 10000000000", "1" + 15 * "0"]
)
def test_shapes_that_are_too_large_are_all_wrong_usage(
    command: str, shape: str, capsys: pytest.CaptureFixture[str]
):
    """Whether for any array or for the memory of this machine."""
    suffix = {"table": "npy", "show": "png"}[command]
    said = usage_error(f"{command} --shape {shape} --channels 8 -o a.{suffix}", capsys)
    assert len(said.splitlines()) == 2  # with that of the usage
    assert list(Path().iterdir()) == []


def test_a_size_that_no_float_holds(capsys: pytest.CaptureFixture[str]):
    assert "too large" in usage_error(
        f"table --shape 1{'0' * 400} --channels 8", capsys
    )


@pytest.mark.parametrize(
    "line", [f"{TABLE} -o no/a.npy", "show" + TABLE[5:] + " -o no/a.png"]
)
def test_a_missing_folder_is_an_error(line: str, capsys: pytest.CaptureFixture[str]):
    assert main(shlex.split(line)) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    folder, _, reason = printed.err.partition(" was not written: ")
    assert folder.startswith("python -m keras_posenc: error: no/a.")
    assert reason == "No such file or directory\n"


def test_without_matplotlib_tables_are_written_and_pictures_are_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert written(TABLE).shape == (6, 5, 16)
    capsys.readouterr()
    assert main(shlex.split("show --shape 9 --channels 8 -o a.png")) == 1
    assert "pip install 'keras-posenc[plot]'" in capsys.readouterr().err


def test_without_latex_there_is_no_file_for_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "")
    assert main(shlex.split("show --shape 9 --channels 8 -o a.pgf")) == 1
    assert "'xelatex' not found" in capsys.readouterr().err
    assert list(Path().iterdir()) == []


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


# --- Files that are replaced ---------------------------------------------------------


WRITES = {
    "old.npy": "table --shape 3000 --channels 64 -o",
    "old.png": "show --shape 300 --channels 64 -o",
    "old.svg": "show --shape 300 --channels 64 --plot spectrum -o",
}
some_files = pytest.mark.parametrize("name", WRITES)


def listed() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir()}


@pytest.fixture
def full_disk():
    """No file may grow beyond ten kilobytes."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@some_files
@pytest.mark.parametrize("before", [None, b"precious"])
def test_on_a_full_disk_the_older_file_stays(
    name: str,
    before: bytes | None,
    full_disk: None,
    capsys: pytest.CaptureFixture[str],
):
    if before is not None:
        Path(name).write_bytes(before)
    assert main(shlex.split(f"{WRITES[name]} {name}")) == 1
    said = f"python -m keras_posenc: error: {name} was not written: File too large\n"
    assert capsys.readouterr() == ("", said)
    assert listed() == ({} if before is None else {name: before})


def test_when_interrupted_the_older_file_stays(monkeypatch: pytest.MonkeyPatch):
    def save(file: Any, table: np.ndarray):
        file.write(b"half")
        raise KeyboardInterrupt

    Path("a.npy").write_bytes(b"precious")
    monkeypatch.setattr(np, "save", save)
    with pytest.raises(KeyboardInterrupt):
        main(shlex.split(f"{TABLE} -o a.npy"))
    assert listed() == {"a.npy": b"precious"}


@some_files
def test_an_older_file_is_replaced_and_keeps_its_mode(name: str):
    Path(name).write_bytes(b"old")
    Path(name).chmod(0o604)
    run(f"{WRITES[name]} {name}")
    assert len(listed()[name]) > 10_000
    assert [*listed()] == [name]
    assert stat.S_IMODE(Path(name).stat().st_mode) == 0o604


def test_a_new_file_has_the_mode_that_the_user_wants():
    before = os.umask(0o027)
    try:
        run(f"{TABLE} -o a.npy")
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path("a.npy").stat().st_mode) == 0o640


def test_a_file_that_must_not_be_written_is_not(capsys: pytest.CaptureFixture[str]):
    Path("a.npy").write_bytes(b"precious")
    Path("a.npy").chmod(0o444)
    if os.access("a.npy", os.W_OK):
        pytest.skip("this user may write everything")
    assert main(shlex.split(f"{TABLE} -o a.npy")) == 1
    assert "a.npy was not written: Permission denied" in capsys.readouterr().err
    assert listed() == {"a.npy": b"precious"}


@some_files
@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_one(name: str, there: bool):
    folder = Path("folder")
    folder.mkdir()
    if there:
        (folder / name).write_bytes(b"old")
    Path(name).symlink_to(folder / name)
    run(f"{WRITES[name]} {name}")
    assert Path(name).is_symlink()
    assert len((folder / name).read_bytes()) > 10_000
    assert [*folder.iterdir()] == [folder / name]


@some_files
def test_a_pipe_is_written_into(name: str):
    os.mkfifo(name)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(Path(name).read_bytes()))
    reader.start()
    run(f"{WRITES[name]} {name}")
    reader.join()
    assert Path(name).is_fifo()
    assert [path.name for path in Path().iterdir()] == [name]
    run(f"{WRITES[name]} file{name}")
    # In a .svg there are the date and ids that differ every time.
    if not name.endswith(".svg"):
        assert read == [Path(f"file{name}").read_bytes()]


@some_files
def test_a_device_is_written_into(name: str):
    Path(name).symlink_to("/dev/null")
    run(f"{WRITES[name]} {name}")
    assert Path(name).readlink() == Path("/dev/null")
    assert Path("/dev/null").is_char_device()


def test_standard_output_is_written_into():
    Path("out.npy").symlink_to("/dev/stdout")
    done = subprocess.run(
        [sys.executable, "-m", "keras_posenc", *TABLE.split(), "-o", "out.npy"],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
    )
    assert done.returncode == 0
    assert done.stdout.endswith(b"wrote out.npy\n")
    table = np.load(io.BytesIO(done.stdout))
    np.testing.assert_array_equal(table, kp.sinusoidal_table((6, 5), 16))


# --- The backend ---------------------------------------------------------------------


INSTALLED = [
    name for name in ("jax", "tensorflow", "torch") if importlib.util.find_spec(name)
]


@pytest.fixture
def of_keras_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nothing says which backend to take."""
    monkeypatch.delenv("KERAS_BACKEND")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "home"))


def refusal(*arguments: str) -> str:
    done = process(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.skipif(
    len(INSTALLED) > 1 and "tensorflow" not in INSTALLED,
    reason="Keras takes tensorflow, and several others are there",
)
def test_a_first_step_takes_the_backend_that_is_installed(of_keras_only: None):
    taken = INSTALLED[0] if len(INSTALLED) == 1 else "tensorflow"
    # Twice, since Keras leaves a file after the first time that names tensorflow.
    for _ in range(2):
        done = process()
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout.splitlines()[0].endswith(f" on {taken}")
        assert "\nmae " in done.stdout


@pytest.mark.skipif("tensorflow" in INSTALLED, reason="which Keras takes by itself")
def test_among_several_backends_the_user_is_asked(
    of_keras_only: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other = tmp_path / "path" / ("torch" if INSTALLED == ["jax"] else "jax")
    other.mkdir(parents=True)
    (other / "__init__.py").touch()
    path = os.pathsep.join([str(other.parent), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    said = refusal(*shlex.split(TABLE))
    assert said.endswith(
        "KERAS_BACKEND must name a backend that is installed: jax, torch"
    )


def test_a_folder_is_no_backend(monkeypatch: pytest.MonkeyPatch):
    for name in ("jax", "tensorflow", "torch"):
        Path(name).mkdir()
    monkeypatch.syspath_prepend(Path.cwd())
    assert _start._installed() == INSTALLED


def test_a_backend_that_there_is_not_is_no_traceback(monkeypatch: pytest.MonkeyPatch):
    missing = {"jax", "tensorflow", "torch"}.difference(INSTALLED)
    for name in ["nonsense", *sorted(missing)]:
        monkeypatch.setenv("KERAS_BACKEND", name)
        said = refusal()
        assert said.startswith("python -m keras_posenc: error: ")
        assert name in said
        assert said.endswith(f" that is installed: {', '.join(INSTALLED)}")


def test_importing_the_package_chooses_no_backend(
    of_keras_only: None, monkeypatch: pytest.MonkeyPatch
):
    code = (
        "import os, sys; argv = sys.argv[:]\n"
        "try: import keras_posenc\n"
        "finally: print('KERAS_BACKEND' in os.environ, sys.argv == argv)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "-m", "keras_posenc"],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "False True\n"
    if "tensorflow" not in INSTALLED:
        # The error of Keras as it is, and what to do.
        *_, error, hint = done.stderr.splitlines()
        assert error == "ModuleNotFoundError: No module named 'tensorflow'"
        assert hint.startswith("KERAS_BACKEND must name a backend that is installed: ")


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
