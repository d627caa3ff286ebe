"""The app opened by a command: what it is told, which address shows the data, ports, addresses, flags."""

import io
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from recall_core import cli, rights
from recall_core.cli import launch
from recall_core.datasets.dataset import load
from recall_core.diagnosis import triage
from recall_core.errors import DataError, MissingDependency
from recall_core.evaluation.wiring import evaluate
from tests.conftest import DATA, ROOT

LAB = DATA / "glyphlab"


@pytest.fixture
def vectors(tmp_path: Path) -> list[str]:
    """Two files of vectors for the lab."""
    names = [str(tmp_path / name) for name in ("A.npy", "B.npy")]
    for name in names:
        np.save(name, np.eye(360, 4))
    return names


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of this machine on which something listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What would have been run, instead of a server."""
    found: dict[str, object] = {}

    def run(module: str, run_name: str) -> None:
        found.update(module=module, name=run_name, words=list(sys.argv), environment=dict(os.environ))

    monkeypatch.setattr(launch.runpy, "run_module", run)
    monkeypatch.setattr(launch, "_tell_when_ready", lambda address, port, ready: found.update(waits=(address, port)))
    monkeypatch.setattr(launch, "warm", lambda app, data, tell: found.update(warmed=list(data)))
    monkeypatch.setattr(sys, "argv", ["recall-explorer"])
    for name in (rights.DATA_ROOT, rights.EMBEDDINGS, rights.TYPED_PATHS, rights.CODE_BOX):
        monkeypatch.setenv(name, "")
    return found


def shown(data: str | None, *embeddings: str) -> tuple[str, dict[str, list[str]]]:
    parts = urlsplit(launch.opening(data, embeddings)[1])
    return parts.path, parse_qs(parts.query)


def test_a_data_set_opens_on_overview() -> None:
    environment, _ = launch.opening(str(LAB))
    assert environment == {"RECALL_DATA_ROOT": str(LAB), "RECALL_EMBEDDINGS": ""}
    assert shown(str(LAB)) == ("/overview", {"data": ["glyphlab"]})


def test_a_folder_is_named_wherever_the_command_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DATA)
    assert launch.opening("glyphlab")[0]["RECALL_DATA_ROOT"] == str(LAB)
    monkeypatch.chdir(LAB)
    assert shown(".") == ("/overview", {"data": ["glyphlab"]})


def test_a_table_opens_on_overview(tmp_path: Path) -> None:
    (tmp_path / "cups.csv").write_text("path,group\n", encoding="utf-8")
    assert shown(str(tmp_path / "cups.csv")) == ("/overview", {"data": ["cups"]})


def test_a_folder_of_data_sets_opens_on_start_with_the_first() -> None:
    assert shown(str(DATA)) == ("/", {"data": ["glyphlab"]})


def test_without_data_the_bundled_ones_are_there() -> None:
    assert launch.opening(None) == ({}, "/")
    assert shown("digits") == ("/overview", {"data": ["digits"]})


def test_a_run_opens_on_compare(tmp_path: Path) -> None:
    evaluate(load(LAB), ks=(1,)).save(tmp_path / "raw")
    assert shown(str(tmp_path / "raw")) == ("/compare", {"runs": ["saved:raw"]})
    assert shown(str(tmp_path)) == ("/compare", {}), "a folder of runs"


def test_vectors_open_on_overview_and_two_on_their_comparison(vectors: list[str]) -> None:
    assert shown(str(LAB), vectors[0]) == ("/overview", {"data": ["glyphlab"], "embeddings": ["A.npy"]})
    assert shown(str(LAB), *vectors) == ("/compare", {"data": ["glyphlab"], "runs": ["vectors:A.npy,vectors:B.npy"]})
    assert launch.opening(str(LAB), vectors)[0]["RECALL_EMBEDDINGS"] == os.pathsep.join(vectors)


@pytest.mark.parametrize("data", [None, "digits", str(DATA)])
def test_vectors_need_one_data_set(data: str | None, vectors: list[str]) -> None:
    with pytest.raises(DataError, match="belong to the images of one data set"):
        launch.opening(data, vectors)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="neither a folder nor a built-in data set"):
        launch.opening(str(tmp_path / "gone"))
    with pytest.raises(DataError, match="no data set found here"):
        launch.opening(str(tmp_path))
    with pytest.raises(DataError, match="there is no such file"):
        launch.opening(str(LAB), ["gone.npy"])


def test_a_port_that_is_named_must_be_free(taken: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["app", "--port", str(taken)]) == 2
    assert f"port {taken} is in use" in capsys.readouterr().err
    assert cli.main(["app", "--port", "70000"]) == 2
    assert "1 to 65535" in capsys.readouterr().err


def test_the_next_free_port_is_taken_and_said(
    taken: int, served: dict[str, object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launch, "PORT", taken)
    assert cli.main(["app"]) == 0
    words = served["words"]
    assert isinstance(words, list)
    (port,) = (int(word.partition("=")[2]) for word in words if word.startswith("--server.port="))
    assert taken < port < taken + launch.N_PORT
    assert f"port {taken} is in use: this is {port}" in capsys.readouterr().err


def test_a_port_is_taken_whoever_listens_on_it(taken: int) -> None:
    with pytest.raises(DataError, match="in use"):
        launch.free_port(launch.EVERYWHERE, taken)
    with socket.create_server(("0.0.0.0", 0)) as wide, pytest.raises(DataError, match="in use"):
        launch.free_port(launch.HERE, wide.getsockname()[1])


def test_streamlit_runs_in_this_process_with_our_settings(served: dict[str, object]) -> None:
    assert cli.main(["app", str(LAB), "--no-browser", "--", "--server.maxUploadSize=7"]) == 0
    words = served["words"]
    assert isinstance(words, list)
    assert words[:3] == ["streamlit", "run", str(ROOT / "app.py")]
    assert {"--server.address=localhost", "--server.headless=true", "--server.showEmailPrompt=false"} <= set(words)
    assert {"--browser.gatherUsageStats=false", "--logger.hideWelcomeMessage=true"} <= set(words)
    assert words[-1] == "--server.maxUploadSize=7"
    assert served["environment"]["RECALL_DATA_ROOT"] == str(LAB)  # type: ignore[index]


@pytest.mark.parametrize("given", ["--server.port=1", "--server.address=0.0.0.0", "server.maxUploadSize"])
def test_flags_that_would_undo_ours_are_refused(
    given: str, served: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["app", "--", given]) == 2
    assert given in capsys.readouterr().err
    assert not served


def test_a_missing_package_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "find_spec", lambda name: None if name in ("sklearn", "segno") else object())
    with pytest.raises(
        MissingDependency, match=r'segno and scikit-learn; install it: pip install "recall-explorer\[app\]"'
    ):
        launch.check_installed()


def test_the_app_lies_in_the_checkout_or_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "recall_core"
    (package / "_app" / "pages").mkdir(parents=True)
    monkeypatch.setattr(launch, "__file__", str(package / "cli" / "launch.py"))
    with pytest.raises(DataError, match="install the package again"):
        launch.app_file()
    (package / "_app" / "app.py").touch()
    (tmp_path / "site" / "app.py").touch()
    assert launch.app_file() == package / "_app" / "app.py", "an app.py of somebody else's stands in site-packages"
    (tmp_path / "site" / "pages").mkdir()
    assert launch.app_file() == tmp_path / "site" / "app.py"


def test_a_class_is_closed_and_warmed(served: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALL_CODE_BOX", "1")
    monkeypatch.setattr(launch, "network_addresses", lambda: ["192.168.1.5", "10.0.0.3"])
    assert cli.main(["class", str(LAB)]) == 0
    words, environment = served["words"], served["environment"]
    assert isinstance(words, list)
    assert isinstance(environment, dict)
    assert "--server.address=0.0.0.0" in words
    assert (environment["RECALL_CODE_BOX"], environment["RECALL_TYPED_PATHS"]) == ("0", "0")
    assert served["warmed"] == ["glyphlab"]


def test_a_class_needs_a_network(
    served: dict[str, object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launch, "network_addresses", list)
    assert cli.main(["class"]) == 2
    assert "in no network" in capsys.readouterr().err
    assert cli.main(["class", "--address", "203.0.113.9"]) == 2
    assert "is not an address of this machine; it has 127.0.0.1" in capsys.readouterr().err
    assert not served


def test_addresses_are_of_this_machine_and_no_loopback() -> None:
    for address in launch.network_addresses():
        assert launch.check_address(address) == address
        assert not address.startswith("127.")


def test_the_code_on_the_screen_says_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    import segno

    address = "http://192.168.1.5:8501/"
    rows = launch.qr_code(address).splitlines()
    pixels = [[("█▀".find(letter) < 0, "█▄".find(letter) < 0) for letter in row] for row in rows]
    drawn = [[int(cell[half]) for cell in row] for row in pixels for half in (0, 1)]
    expected = [list(row) for row in segno.make(address, micro=False).matrix_iter(border=2)]
    assert drawn[: len(expected)] == expected
    monkeypatch.setattr(sys, "stdout", type("Terminal", (io.StringIO,), {"isatty": lambda self: True})())
    coloured = launch.qr_code(address).splitlines()
    assert coloured == [f"\033[97;40m{row}\033[0m" for row in rows], "white on black, whatever the terminal's colours"


def test_paths_are_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RECALL_DATA_ROOT", str(tmp_path))
    assert cli.main(["paths"]) == 0
    printed = capsys.readouterr().out
    for path in (tmp_path, triage.state_folder(), DATA, ROOT / "app.py"):
        assert f" {path}" in printed


def test_no_browser_takes_over_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(launch.webbrowser, "open", opened.append)
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    launch.open_browser("http://localhost:8501/")
    assert opened == []
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    launch.open_browser("http://localhost:8501/")
    assert opened == ["http://localhost:8501/"]
