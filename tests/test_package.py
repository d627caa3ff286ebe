"""The package as strangers install it: built, in environments of its own, and used from an empty folder."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import recall_core
from tests.browser import Log, Server, settle
from tests.conftest import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.package, pytest.mark.timeout(900)]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
PLATFORMS = ("linux", "macos", "windows")

# Where the four places of the repository land in the wheel.
INSIDE = {
    "recall_core/": "recall_core/",
    "pages/": "recall_core/_app/pages/",
    "data/": "recall_core/_app/data/",
    "app.py": "recall_core/_app/app.py",
    ".streamlit/": "recall_core/_app/.streamlit/",
}

# Tests that need none of the extras.
BARE = (
    "errors",
    "datasets/tables",
    "protocol/spec",
    "metrics/metrics",
    "metrics/intervals",
    "evaluation/saving",
    "evaluation/report",
)
# Tests of the engine that run with the lowest versions: all that reads, ranks, scores and saves.
LOWEST = (
    *BARE,
    *("datasets/embeddings", "datasets/dataset", "datasets/readers", "datasets/samples", "images/images"),
    *("images/encoders", "evaluation/evaluation", "diagnosis/comparison", "diagnosis/html", "diagnosis/chart_data"),
    "experiments/index",
)


@pytest.fixture(scope="session")
def index() -> None:
    """Packages can be had from where uv looks for them; where not, say so, and in CI fail."""
    told = "the package's tests need uv (pip install -r tests/requirements.txt) and an index of packages: "
    done = run(sys.executable, "-m", "uv", "pip", "compile", "-q", "-", input="platformdirs>=4", check=False)
    if done.returncode:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(told + done.stderr.strip()[-300:])


@pytest.fixture(scope="session")
def built(index: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    uv("build", "-q", "--out-dir", folder, ROOT)
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="session")
def everything(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and all its extras."""
    return environment(tmp_path_factory.mktemp("everything"), f"{wheel}[all]")


@pytest.fixture(scope="session")
def bare(index: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment where ``pip install FOLDER`` was run, without extras; with pytest besides."""
    folder = tmp_path_factory.mktemp("bare")
    run(sys.executable, "-m", "venv", folder / "env")
    run(python(folder), "-m", "pip", "install", "-q", ROOT, cwd=folder)
    uv("pip", "install", "-q", "--python", python(folder), "pytest", "pytest-timeout", "hypothesis")
    return folder


@pytest.fixture(scope="session")
def lowest(index: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the lowest version of everything that pyproject.toml names; with pytest besides."""
    folder = environment(tmp_path_factory.mktemp("lowest"))
    extras = [part for extra in ("app", "index", "dask") for part in ("--extra", extra)]
    given = ["--resolution", "lowest-direct", "-r", ROOT / "pyproject.toml", *extras]
    uv("pip", "install", "-q", "--python", python(folder), *given)
    uv("pip", "install", "-q", "--python", python(folder), "pytest", "pytest-timeout", "hypothesis")
    return folder


def test_the_wheel_holds_what_the_repository_holds_and_nothing_else(built: Path, wheel: Path, tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout: there is no list of its files")
    listed = run("git", "ls-files", "-z", *(place.rstrip("/") for place in INSIDE), cwd=ROOT).stdout.split("\0")
    expected = {
        inside + name.removeprefix(place)
        for name in filter(None, listed)
        for place, inside in INSIDE.items()
        if name.startswith(place)
    }
    found = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in found if ".dist-info/" not in name} == expected
    assert {name.partition("/")[0] for name in found} == {"recall_core", wheel.name.split("-py3")[0] + ".dist-info"}
    assert "recall_core/py.typed" in expected

    uv("build", "-q", "--wheel", "--out-dir", tmp_path, ROOT)  # from the checkout, not by way of the sdist
    assert set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()) == found
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    tracked = run("git", "ls-files", "-z", *("recall_core", "pages", "data", "tests", "docs"), cwd=ROOT).stdout
    assert set(filter(None, tracked.split("\0"))) <= names
    assert {"README.md", "LICENSE", "CHANGELOG.md", "requirements.txt", "tests/requirements.txt"} <= names


def test_one_version_is_named_everywhere(wheel: Path, everything: Path, tmp_path: Path) -> None:
    version = recall_core.__version__
    assert wheel.name.startswith(f"recall_explorer-{version}-")
    assert script(everything, tmp_path, "--version").strip() == f"recall-explorer {version}"


def test_from_an_empty_folder_the_commands_run(everything: Path, tmp_path: Path) -> None:
    assert script(everything, tmp_path, "glyphlab", "lab") == ""
    text = script(everything, tmp_path, "evaluate", "lab", "--save", "run")
    assert "recall@1:  1.0000      60/60" in text
    assert "[findings]" in script(everything, tmp_path, "audit", "lab")
    for name in ("raw", "colour"):
        script(everything, tmp_path, "evaluate", "lab", "--encoder", name, "--save-embeddings", f"{name}.npy")
        script(everything, tmp_path, "evaluate", "lab", "--embeddings", f"{name}.npy", "--save", f"runs/{name}")
    at_once = script(everything, tmp_path, "compare", "lab", "--embeddings", "raw.npy", "colour.npy")
    assert "[paired tests]" in at_once
    assert at_once == script(everything, tmp_path, "compare", "runs/raw", "runs/colour")
    module = [python(everything), "-m", "recall_core", "evaluate", "lab", "--save", "again"]
    assert run(*module, cwd=tmp_path).stdout == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "colour.npy", "lab", "raw.npy", "run", "runs"]


def test_from_an_empty_folder_the_app_shows_its_pages(
    everything: Path,
    tmp_path: Path,
    chromium: "Browser",
) -> None:
    with served(everything, tmp_path) as server:
        with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=30) as answer:
            assert answer.read() == b"ok"
        page = chromium.new_page()
        for path, shown in (("/failures?data=glyphlab_textured&encoder=colour", "Failures"), ("/", "Recall Explorer")):
            page.goto(server.url + path)
            settle(page)
            assert shown in page.locator("[data-testid=stMain]").inner_text()
            assert page.locator("[data-testid=stException]").count() == 0
        page.close()
    assert not (tmp_path / "data").exists()


def test_an_editable_installation_is_the_checkout(index: None, tmp_path: Path) -> None:
    environment(tmp_path, "-e", str(ROOT))
    (tmp_path / "empty").mkdir()
    told = run(python(tmp_path), "-c", "import recall_core; print(recall_core.__file__)", cwd=tmp_path / "empty").stdout
    assert Path(told.strip()) == ROOT / "recall_core" / "__init__.py"
    assert script(tmp_path, tmp_path / "empty", "--version").endswith(f"{recall_core.__version__}\n")


def test_the_engine_needs_none_of_the_extras(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    names = [re.split(r"[<>=\[]", one)[0] for parts in EXTRAS.values() for one in parts]
    there = {one["name"] for one in json.loads(uv("pip", "list", "-q", "--format=json", "--python", python(bare)))}
    assert not there & (set(names) - {"recall-explorer"})
    script(bare, tmp_path / "empty", "glyphlab", "lab")
    words = script(bare, tmp_path / "empty", "evaluate", "lab", "--html", "report.html", "--json")
    assert json.loads(words)["scores"]["recall@1"]["value"] == 1
    script(bare, tmp_path / "empty", "audit", "lab")
    run_tests(bare, BARE)


def test_the_command_that_a_missing_package_is_named_with_installs_it(bare: Path, tmp_path: Path) -> None:
    done = run(command(bare), "evaluate", "digits", cwd=tmp_path, check=False)
    assert done.returncode == 2
    told = re.search(r'; install it: pip (install ".+")$', done.stderr.strip())
    assert told is not None
    dry = [part.strip('"') for part in told[1].split()] + ["--dry-run"]
    assert "scikit-learn-" in run(python(bare), "-m", "pip", *dry, cwd=tmp_path).stdout


def test_without_streamlit_the_app_says_how_to_install_it(bare: Path, tmp_path: Path) -> None:
    done = run(command(bare), "app", cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert 'pip install "recall-explorer[app]"' in done.stderr


def test_the_lowest_versions_do(lowest: Path) -> None:
    run_tests(lowest, LOWEST, "-k", "not omniglot")


@pytest.mark.parametrize("version", PYTHONS)
def test_each_supported_python_prints_the_same_numbers(version: str, wheel: Path, tmp_path: Path) -> None:
    interpreter = found(version)
    if interpreter is None:
        pytest.skip(f"there is no Python {version} on this machine")
    environment(tmp_path, f"{wheel}[all]", interpreter=interpreter)
    (tmp_path / "empty").mkdir()
    script(tmp_path, tmp_path / "empty", "glyphlab", "lab")
    given = ["evaluate", str(tmp_path / "empty" / "lab"), "--encoder", "colour"]
    here = run(sys.executable, "-m", "recall_core", *given, cwd=ROOT).stdout
    # A checkout that is not installed prints its command by another name.
    assert script(tmp_path, tmp_path / "empty", *given) == here.replace("python -m recall_core", "recall-explorer")
    assert "hnsw" in script(tmp_path, tmp_path, "ann", str(ROOT / "data" / "glyphlab"), "--index", "hnsw", "--csv", "a")


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("version", PYTHONS)
def test_every_dependency_has_a_wheel_for_each_supported_python_and_system(
    version: str, platform: str, index: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MACOSX_DEPLOYMENT_TARGET", "14.0")  # faiss has none for macOS 13, whose support has ended
    extras = [part for extra in EXTRAS if extra != "all" for part in ("--extra", extra)]
    where = ["--python-version", version, "--python-platform", platform, "--only-binary", ":all:"]
    pinned = uv("pip", "compile", "-q", "--no-header", ROOT / "pyproject.toml", *extras, *where)
    assert "numpy==" in pinned


def environment(folder: Path, *install: str, interpreter: str = sys.executable) -> Path:
    """Make an empty environment in a folder, and install something into it."""
    uv("venv", "-q", "--python", interpreter, folder / "env")
    if install:
        uv("pip", "install", "-q", "--python", python(folder), *install)
    return folder


def run_tests(folder: Path, names: tuple[str, ...], *more: str) -> None:
    """Run tests of the engine with an environment's Python."""
    files = [(ROOT / "tests" / name).with_name(f"test_{Path(name).name}.py") for name in names]
    given = ["-m", "pytest", "-x", "-p", "no:cacheprovider", "-m", "not browser", *files, *more]
    done = run(python(folder), *given, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


@contextmanager
def served(folder: Path, empty: Path) -> Iterator[Server]:
    """Start the installed app from an empty folder, on a port of its own choice; afterwards stop it."""
    process = subprocess.Popen(
        [command(folder), "app", "--no-browser"],
        cwd=empty,
        env=clean() | {"RECALL_STATE_DIR": str(folder / "state")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    log = Log(process, "Ctrl-C ends it")
    try:
        assert log.listening.wait(timeout=120), f"the app did not start:\n{log.text}"
        address = re.search(r"http://\S+", log.text)
        assert address is not None, log.text
        yield Server(address[0].rstrip("/"), process)
    finally:
        process.terminate()
        process.wait(timeout=20)
        log.thread.join(timeout=20)
    assert "Traceback" not in log.text, log.text


def found(version: str) -> str | None:
    """Look for an interpreter on the path and among pyenv's, and try it: a shim may lead nowhere."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    candidates = [sys.executable, shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))]
    for one in filter(None, candidates):
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        if run(one, "-c", code, check=False).stdout.strip() == version:
            return str(one)
    return None


def script(folder: Path, where: Path, *arguments: str) -> str:
    """Run the console script of an environment; what it prints."""
    return run(command(folder), *arguments, cwd=where).stdout


def command(folder: Path) -> Path:
    return python(folder).with_name("recall-explorer" + ".exe" * (sys.platform == "win32"))


def python(folder: Path) -> Path:
    return folder / "env" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def uv(*arguments: object) -> str:
    return run(sys.executable, "-m", "uv", *arguments).stdout


def run(
    *words: object, cwd: Path | None = None, check: bool = True, input: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run a program apart from this environment; where it fails, show what it said."""
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env=clean(),
        input=input,
        check=False,
    )
    assert not check or done.returncode == 0, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


def clean() -> dict[str, str]:
    """The environment variables, without those that lead to this checkout, its virtual environment or its data."""
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "RECALL_DATA_ROOT", "RECALL_STATE_DIR")
    return {name: value for name, value in os.environ.items() if name not in ours}
