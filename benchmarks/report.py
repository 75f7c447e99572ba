"""Shows what a program found as tables, and writes it as Markdown."""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import math
import os
import platform
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import keras
import numpy as np
from candidates import SUMMER
from measure import BACKEND, Times
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

import keras_posenc

RESULTS = Path(__file__).parent / "results"
PEERS = ("keras-hub", "positional-encodings")
BACKEND_NAMES = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}
PER_SECOND = {"ms": 1e3, "us": 1e6}


def arguments(description: str) -> argparse.Namespace:
    """What every program takes."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="only see that it runs: small and few"
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="folder; by default benchmarks/results, or a temporary one if quick",
    )
    args = parser.parse_args()
    if args.output is None:
        args.output = Path(tempfile.mkdtemp()) if args.quick else RESULTS
    return args


class Report:
    """Tables, targets and notes, in the order in which they are to be read."""

    def __init__(self, name: str, description: str):
        self.name = name
        self.title, _, self.description = description.strip().partition("\n")
        self.parts: list[str] = []
        self.targets: list[tuple[str, ...]] = []
        self.console = Console()
        self.others = OtherProcesses()

    def table(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
    ) -> None:
        """Shows a table: text in the first column, numbers in the others."""
        shown = Table(title=title, title_justify="left")
        for index, column in enumerate(columns):
            shown.add_column(column, justify="right" if index else "left")
        for row in rows:
            shown.add_row(*row)
        self.console.print(shown)
        self.parts += [f"## {title}", markdown_table(columns, rows)]

    def times(self, title: str, results: dict[str, Times], unit: str = "ms") -> None:
        """Shows the median time of a call, of each candidate on each input."""
        names = names_in(results)
        rows = []
        for label, times in results.items():
            medians = [times.median(name) * PER_SECOND[unit] for name in names]
            rows.append([label, *map(number, medians)])
        self.table(f"{title}, {unit}", ["input", *names], rows)

    def ratios(
        self,
        title: str,
        results: dict[str, Times],
        limits: dict[str, float],
        subject: str = SUMMER,
    ) -> None:
        """Shows `subject` as a multiple of each other candidate on each input.

        The last row has the medians, which are what `limits` hold for.
        """
        bases = [name for name in names_in(results) if name != subject]
        rows = {
            label: [times.ratio(subject, base) for base in bases]
            for label, times in results.items()
        }
        medians = np.nanmedian(list(rows.values()), axis=0)
        rows["median"] = list(medians)
        self.table(
            title,
            ["input", *(f"{subject} / {base}" for base in bases)],
            [
                [label, *(number(ratio, ".2f") for ratio in rows[label])]
                for label in rows
            ],
        )
        for base, ratio in zip(bases, medians, strict=True):
            if base in limits:
                self.target(f"{title}: {subject} / {base}", limits[base], ratio)

    def target(
        self, what: str, limit: float, measured: float, form: str = ".2f"
    ) -> None:
        """Notes a promise. `limit` is the largest value that keeps it."""
        kept = "met" if measured <= limit else "NOT MET"
        self.targets.append(
            (what, f"<= {number(limit, form)}", number(measured, form), kept)
        )

    def note(self, text: str) -> None:
        self.console.print(Markdown(text))
        self.parts.append(text)

    def write(self, folder: Path) -> None:
        """Writes `<folder>/<backend>/<name>.md`, or `<backend>-gpu`."""
        if self.targets:
            self.table(
                "Targets, set for two cores of a CPU",
                ["what", "target", "measured", ""],
                self.targets,
            )
        heading = f"# {self.title.rstrip('.')} ({BACKEND_NAMES[BACKEND]})"
        where = "\n".join(f"- {line}" for line in [*machine(), self.others.share()])
        parts = [heading, self.description.strip(), where, *self.parts]
        path = self.path(folder, "md")
        path.write_text("\n\n".join(parts) + "\n")
        self.console.print(f"written to {path}")

    def path(self, folder: Path, suffix: str) -> Path:
        name = BACKEND if device() == "CPU" else f"{BACKEND}-gpu"
        (folder / name).mkdir(parents=True, exist_ok=True)
        return folder / name / f"{self.name}.{suffix}"


def names_in(results: dict[str, Times]) -> list[str]:
    """Every candidate once, in the order of their first appearance."""
    return list(dict.fromkeys(name for times in results.values() for name in times))


def number(value: float, form: str = ".3g") -> str:
    """Three digits unless told otherwise; nothing was measured where it is NaN."""
    return "-" if math.isnan(value) else format(value, form)


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    line = ["---", *["---:"] * (len(columns) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [columns, line, *rows])


def machine() -> list[str]:
    """With what and when: the lines below every title."""
    versions = [
        f"Python {platform.python_version()}",
        f"keras {keras.__version__}",
        f"{BACKEND} {import_module(BACKEND).__version__}",
        f"keras-posenc {keras_posenc.__version__}",
        *(f"{peer} {version}" for peer in PEERS if (version := version_of(peer))),
    ]
    return [
        f"Machine: {processor()}, {os.cpu_count()} cores, {platform.system()}",
        f"Device: {device()}",
        f"Versions: {', '.join(versions)}",
        f"Date: {datetime.date.today().isoformat()}",
    ]


class OtherProcesses:
    """How much of the processor others take meanwhile: the less, the better."""

    def __init__(self) -> None:
        self.start = self.clocks()

    def share(self) -> str:
        before, now = self.start, self.clocks()
        if before is None or now is None:
            return "Other processes: not known on this system"
        wall, all_busy, own = (b - a for a, b in zip(before, now, strict=True))
        percent = 100 * max(all_busy - own, 0) / (wall * (os.cpu_count() or 1))
        return f"Other processes took {percent:.0f} % of the processor meanwhile"

    @staticmethod
    def clocks() -> tuple[float, float, float] | None:
        """Seconds of time, of all work of the processor, and of this program's."""
        stat = Path("/proc/stat")
        if not stat.exists():
            return None
        user, nice, system, _, _, irq, softirq, steal = map(
            int, stat.read_text().split()[1:9]
        )
        ticks = user + nice + system + irq + softirq + steal
        busy = ticks / os.sysconf("SC_CLK_TCK")
        return time.perf_counter(), busy, sum(os.times()[:4])


def version_of(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor() -> str:
    """The model of the CPU, which Python itself knows on some systems only."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def device() -> str:
    """The accelerator that tensors are put on, or CPU."""
    if BACKEND == "jax":
        import jax

        return "CPU" if jax.default_backend() == "cpu" else jax.devices()[0].device_kind
    if BACKEND == "torch":
        import torch

        return torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return "CPU"
    return tf.config.experimental.get_device_details(gpus[0])["device_name"]
