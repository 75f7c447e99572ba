"""The checks of this project: `nox -l` lists them.

`nox` runs those that tell whether a checkout works, in about half an hour on two
cores; `nox -t full` the rest of what runs at every push, but for other versions.
`nox -s "tests(jax)" -- -k summer` runs one session; pytest gets what follows `--`.
"""

import os
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
# Anything with pip can repeat these environments; uv would choose files its own way.
nox.options.default_venv_backend = "virtualenv"
nox.options.error_on_external_run = True
# What an earlier run left behind could hide a missing requirement. `nox -r` keeps it.
nox.options.reuse_venv = "no"

ROOT = Path(__file__).parent
CONSTRAINTS = ROOT / "constraints.txt"
FLOORS = ROOT / "floors"
PYPROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
BACKENDS = ("jax", "torch", "tensorflow")
ALL_BACKENDS = ",".join(BACKENDS)
# Starts of the variables that would change what is tested. Those that choose a device
# stay.
CALLERS_SETTINGS = ("JAX_ENABLE_X64", "KERAS_", "PYTEST_", "PYTHONPATH")
# The tag of what plain `nox` leaves out, and every push runs.
FULL = "full"
# As services that run checks set it.
IN_CI = bool(os.environ.get("CI"))


def prepare(
    session: nox.Session,
    *requirements: str,
    group: str | None = "test",
    backend: str | None = None,
    constraints: Path | None = CONSTRAINTS,
) -> Path:
    """Shut out the caller's settings, install at the versions that are pinned.

    Returns:
        The session's temporary folder.
    """
    if IN_CI:
        make_room(session)
    temporary = Path(session.create_tmp()).resolve()
    callers = [name for name in os.environ if name.startswith(CALLERS_SETTINGS)]
    session.env.update(dict.fromkeys(callers))
    # Keras would read its backend and float type from the home folder.
    session.env["KERAS_HOME"] = str(temporary / "keras")
    session.env["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if backend:
        session.env["KERAS_BACKEND"] = backend
    # Variables, not `-c`: they reach isolated builds too, the second from pip 25.3 on.
    # An address, because pip splits the variables at spaces.
    if constraints:
        session.env["PIP_CONSTRAINT"] = constraints.as_uri()
    session.env["PIP_BUILD_CONSTRAINT"] = CONSTRAINTS.as_uri()
    groups = nox.project.dependency_groups(PYPROJECT, group) if group else ()
    session.install(*requirements, *groups)
    return temporary


def make_room(session: nox.Session) -> None:
    """Remove the environments of earlier sessions: together they take 20 GB."""
    own = Path(session.virtualenv.location)
    for environment in own.parent.glob("*/"):
        if environment.name != own.name:
            shutil.rmtree(environment)


def run_suite(session: nox.Session, backend: str) -> None:
    """Run the tests that need one backend, in two processes."""
    session.run(
        "pytest",
        "tests",
        "--ignore=tests/all_backends",
        "--ignore=tests/docs",
        "--ignore=tests/export",
        "--ignore=tests/site",
        "--numprocesses=2",
        "--dist=worksteal",
        f"--only-backend={backend}",
        *session.posargs,
    )


# What in tests/docs a session for one backend runs; together they run all of it.
SHOWN = {
    "jax": "not torch and not tensorflow",
    "torch": "torch",
    "tensorflow": "tensorflow",
}


def run_shown_code(session: nox.Session, backend: str) -> None:
    """Run what README, guides and docstrings show, and compare what they say."""
    session.run(
        "pytest",
        "tests/docs",
        "--ignore=tests/docs/test_data_examples.py",
        "--numprocesses=2",
        "--dist=worksteal",
        f"-k={SHOWN[backend]}",
    )


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, layout and types."""
    prepare(session, "-e.", group="lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("mypy")


@nox.session
@nox.parametrize("backend", BACKENDS, ids=BACKENDS)
def tests(session: nox.Session, backend: str) -> None:
    """Run the suite, and all code that is shown, where Keras has no other backend.

    On JAX also the quickstart. With arguments for pytest, the suite alone.
    """
    temporary = prepare(session, f"-e.[{backend}]", backend=backend)
    run_suite(session, backend)
    if session.posargs:
        return
    run_shown_code(session, backend)
    if backend == "jax":
        # Not before: the suite is to find what a user with JAX alone lacks.
        session.install("-e.[jax,examples]")
        session.run("python", "examples/quickstart.py", f"--output={temporary}")


def floors_of(backend: str) -> list[str]:
    """What pyproject.toml requires, each at its lower bound and nothing newer."""
    project = PYPROJECT["project"]
    requirements = project["dependencies"] + project["optional-dependencies"][backend]
    return [requirement.replace(">=", "==") for requirement in requirements]


@nox.session(default=False)
@nox.parametrize("backend", BACKENDS, ids=BACKENDS)
def floors(session: nox.Session, backend: str) -> None:
    """Run the suite at the lowest versions that pyproject.toml allows."""
    # pip stops where the constraints have another version of one of them.
    exact, pins = floors_of(backend), FLOORS / f"{backend}.txt"
    prepare(session, f"-e.[{backend}]", *exact, backend=backend, constraints=pins)
    run_suite(session, backend)


@nox.session(default=False)
@nox.parametrize("backend", BACKENDS, ids=BACKENDS)
def newest(session: nox.Session, backend: str) -> None:
    """Run the suite at the newest versions that pip's own settings let through."""
    # On Linux the newest torch comes with CUDA: for a build that does not, name that in
    # a file for PIP_CONSTRAINT, which this session leaves as it is.
    prepare(session, f"-e.[{backend}]", backend=backend, constraints=None)
    run_suite(session, backend)


@nox.session(default=False, python=["3.12", "3.13"])
@nox.parametrize("backend", BACKENDS, ids=BACKENDS)
def pythons(session: nox.Session, backend: str) -> None:
    """Run the suite on the other versions of Python."""
    prepare(session, f"-e.[{backend}]", backend=backend)
    run_suite(session, backend)


@nox.session(default=False, tags=[FULL])
def all_backends(session: nox.Session) -> None:
    """Load under each backend what another one saved; compare with the peer.

    And run the examples on real data on the backends that `examples` leaves out.
    """
    extras = f"{ALL_BACKENDS},examples"
    prepare(session, f"-e.[{extras}]", "openvino", "positional-encodings")
    session.run(
        "pytest",
        "tests/all_backends",
        "tests/docs/test_data_examples.py",
        "--numprocesses=2",
        "--dist=loadfile",  # what the tests of a file compare is made once for all
        *session.posargs,
    )


@nox.session(default=False, tags=[FULL])
def export(session: nox.Session) -> None:
    """Run exported models where they are meant to run."""
    # Most of the exporters go by way of a backend that is not the model's.
    prepare(session, f"-e.[{ALL_BACKENDS}]", group="export")
    # They bring plugins too, which nothing here needs, and of which pytest 9 warns.
    session.env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    # One environment for the three: to install it takes minutes, and 5 GB.
    for backend in BACKENDS:
        of_backend = {"KERAS_BACKEND": backend}
        session.run("pytest", "tests/export", *session.posargs, env=of_backend)


# Kept environments would hold the last wheel of the same version.
@nox.session(default=False, tags=[FULL], reuse_venv=False)
def wheel(session: nox.Session) -> None:
    """Build sdist and wheel, run tests of everything on the installed wheel."""
    temporary = prepare(session, "build", backend="jax")
    session.run("python", "-m", "build", f"--outdir={temporary / 'dist'}")
    (built,) = (temporary / "dist").glob("*.whl")
    session.install(f"keras-posenc[jax] @ {built.as_uri()}")

    # From here the checkout is out of reach; pyproject.toml has pytest's settings.
    no_caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tests", temporary / "tests", ignore=no_caches)
    shutil.copy(ROOT / "pyproject.toml", temporary)
    session.chdir(temporary)
    session.run("python", "-c", CHECK_INSTALLED)
    # The code is that of `tests`; only what is not packed could be missing.
    files = [f"tests/test_{name}.py" for name in PACKED]
    session.run("pytest", *files, "--only-backend=jax", *session.posargs)


# One for the names, and one for each kind of thing that can be packed or forgotten.
PACKED = (
    "docstrings",
    "golden",
    "golden_saved",
    "imports",
    "migration",
    "presets",
    "public_names",
    "table",
)

# No file is to be larger than 200 kB: the sources are 45 at most, a picture that was
# packed by mistake would be more.
CHECK_INSTALLED = """
import importlib.metadata, pathlib, re, sysconfig, keras_posenc
imported = pathlib.Path(keras_posenc.__file__)
assert imported.is_relative_to(sysconfig.get_path("purelib")), imported
files = importlib.metadata.files("keras-posenc")
missing = {"py.typed", "LICENSE"} - {file.name for file in files}
assert not missing, missing
folders = {file.parts[0] for file in files}
information = f"keras_posenc-{keras_posenc.__version__}.dist-info"
assert folders == {"keras_posenc", information}, folders
large = [str(file) for file in files if file.locate().stat().st_size > 200_000]
assert not large, large
required = importlib.metadata.requires("keras-posenc")
always = {re.match(r"[\\w-]+", text)[0] for text in required if "extra" not in text}
assert always == {"keras", "numpy"}, always
"""


@nox.session(default=False, tags=[FULL])
def site(session: nox.Session) -> None:
    """Build the site of the documentation, and read it in a browser."""
    temporary = prepare(session, "-e.[jax,plot]", group="site", backend="jax")
    folder, photographs = temporary / "site", temporary / "photographs"
    # What was built before could hide that something is missing.
    shutil.rmtree(folder, ignore_errors=True)
    session.run("python", "docs/build.py", str(folder))
    where = (f"--site={folder}", f"--photographs={photographs}")
    session.run("pytest", "tests/site", *where, *session.posargs)
    session.log(f"The site is in {folder}, pictures of its pages in {photographs}")


@nox.session(default=False, tags=[FULL])
def examples(session: nox.Session) -> None:
    """Run the examples on real data, with one seed and one epoch."""
    # With what the README tells a newcomer to install, and nothing that tests bring.
    output = prepare(session, "-e.[jax,examples]", group=None, backend="jax")
    session.run("python", "examples/quickstart.py", f"--output={output}")
    quick = (f"--output={output}", "--epochs=1")
    for name in ("text", "images", "volumes", "series"):
        session.run("python", f"examples/{name}.py", *quick, "--seeds=1")
    session.run("python", "examples/decoding.py", *quick)


# One program for each question, in the order in which a reader would ask them. Those
# of the second list measure no time, and run side by side.
TIMED = (
    "eager",
    "lengths",
    "compiled",
    "presets",
    "overhead",
    "decoding",
    "alone",
    "startup",
    "growth",
)
UNTIMED = ("memory", "thousand", "accuracy")


@nox.session(default=False)
@nox.parametrize("backend", BACKENDS, ids=BACKENDS)
def bench(session: nox.Session, backend: str) -> None:
    """Measure beside the peers, some 5 minutes each; with `-- --quick`, only run."""
    # JAX exports through TensorFlow. There is no positional-encodings for JAX.
    others = "tensorflow-cpu" if backend == "jax" else "positional-encodings"
    prepare(session, f"-e.[{backend}]", others, group="bench", backend=backend)
    # It asks for all of TensorFlow, but a backend of its own is enough to import it.
    session.install("--no-deps", "keras-hub")
    for program in TIMED:
        session.run("python", f"benchmarks/{program}.py", *session.posargs)
    session.run("python", "benchmarks/side_by_side.py", *UNTIMED, *session.posargs)
    if not session.posargs:
        session.run("python", "benchmarks/summary.py")


LOCK_HEADER = """\
# The version of everything that the nox sessions install, for Python 3.11 to 3.13.
# `nox -s lock` adds what is missing; `nox -s lock -- --upgrade-package NAME` moves one.
"""
FLOORS_HEADER = """\
# What `nox -s floors` installs, for Python 3.11: what pyproject.toml names at its lower
# bound, and the newest of the rest that goes with it. `nox -s lock` keeps up with that.
"""


@nox.session(default=False)
def lock(session: nox.Session) -> None:
    """Bring the constraints up to date with pyproject.toml and noxfile.py."""
    others = Path(session.create_tmp()) / "requirements.txt"
    build_requires = PYPROJECT["build-system"]["requires"]
    # What no extra and no group names. hatchling asks for editables only as it builds.
    tools = ["build", "editables", "nox", "pre-commit", "uv"]
    peers = ["keras-hub", "positional-encodings", "tensorflow-cpu"]
    # Later ones are for Python below 3.11, a kind of bound that uv takes no notice of.
    bounds = ["backports-strenum<1.3"]
    others.write_text("\n".join([*build_requires, *tools, *peers, *bounds]))
    session.install("uv", env={"PIP_CONSTRAINT": CONSTRAINTS.as_uri()})
    compile_pins(
        session,
        CONSTRAINTS,
        LOCK_HEADER,
        str(others),
        "--all-extras",
        *(f"--group={group}" for group in PYPROJECT["dependency-groups"]),
        "--universal",
        "--fork-strategy=fewest",
    )
    for backend in BACKENDS:
        compile_pins(
            session,
            FLOORS / f"{backend}.txt",
            FLOORS_HEADER,
            f"--extra={backend}",
            "--group=test",
            "--resolution=lowest-direct",
        )


def compile_pins(
    session: nox.Session, pins: Path, header: str, *arguments: str
) -> None:
    session.run(
        "uv",
        "pip",
        "compile",
        "pyproject.toml",
        "--python-version=3.11",
        "--no-annotate",
        "--no-header",
        "--quiet",
        f"--output-file={pins}",
        *arguments,
        *session.posargs,
    )
    text = pins.read_text()
    # uv repeats on every line what pyproject.toml says of all.
    for repeated in ("{} and ", " ; {}"):
        text = text.replace(repeated.format("python_full_version < '3.14'"), "")
    pins.write_text(header + text)
