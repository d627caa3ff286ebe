"""A student's code apart: what goes wrong is contained and told; the file to run at home gives the same verdicts."""

import ast
import json
import os
import subprocess
import sys
import time

import pytest

from recall_core import rights
from recall_core.course.tasks import codebox, f3
from recall_core.course.tasks.checks import ENGLISH, checks_file
from recall_core.course.tasks.codebox import code_allowed, run_code
from recall_core.course.tasks.f3 import f3_cases
from recall_core.errors import DataError
from tests.conftest import ROOT

RIGHT = """
import numpy as np

def recall_at_k(rank_matrix, rel_matrix, k):
    ranks, relevant = np.asarray(rank_matrix), np.asarray(rel_matrix)
    if ranks.shape != relevant.shape or not 1 <= k <= ranks.shape[1]:
        raise ValueError("k")
    if (np.sort(ranks, axis=1) != np.arange(ranks.shape[1])).any():
        raise ValueError("no permutation")
    if not np.isin(relevant, (0, 1)).all():
        raise ValueError("relevance")
    return np.take_along_axis(relevant, ranks[:, :k], axis=1).any(axis=1).mean()
"""
LEFT_OUT = RIGHT.replace("axis=1).any(axis=1).mean()", "axis=1).any(axis=1)[relevant.any(axis=1)].mean()")
HANGS = RIGHT.replace("    return", "    while k == 3:\n        pass\n    return")


@pytest.fixture(autouse=True)
def switched_on(monkeypatch):
    monkeypatch.setenv(rights.CODE_BOX, "1")


posix = pytest.mark.skipif(os.name != "posix", reason="this system has no resource limits or process groups")


@pytest.mark.parametrize("value", [None, "", "0", "true", "yes"])
def test_the_box_is_off_unless_it_is_switched_on(monkeypatch, value):
    monkeypatch.delenv(rights.CODE_BOX) if value is None else monkeypatch.setenv(rights.CODE_BOX, value)
    assert not code_allowed()
    with pytest.raises(DataError, match="RECALL_CODE_BOX=1"):
        run_code(RIGHT)


def test_a_right_solution_passes_every_case():
    found = run_code("print('hello')" + RIGHT, seconds=30)
    assert (found.stopped, found.message, found.printed) == ("", "", "hello\n")
    assert found.marked.correct
    assert len(found.marked.marks) == len(f3_cases())


def test_a_wrong_solution_shows_its_first_failing_input():
    found = run_code(LEFT_OUT, seconds=30)
    assert (found.stopped, found.marked.hint) == ("", "left_out")
    assert found.marked.parameters["case"] == "f2_k1"
    assert found.marked.parameters["expected"] == 0.25
    assert found.marked.parameters["value"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("source", "stopped", "message"),
    [
        ("def recall_at_k(:\n", "syntax", "line 1: "),
        ("x = 1\n\nx.y\n", "failed", "line 3: AttributeError"),
        ("import nonsense_module\n", "failed", "line 1: ModuleNotFoundError"),
        ("x = 1\n", "no_function", ""),
        ("recall_at_k = 3\n", "no_function", ""),
        ("import sys; sys.exit(0)\n", "ended", ""),
        ("import os; os._exit(7)\n", "ended", ""),
        ("\0", "syntax", ""),
    ],
)
def test_code_that_never_comes_to_the_cases_is_told_why(source, stopped, message):
    found = run_code(source, seconds=30)
    assert found.stopped == stopped
    assert found.message.startswith(message)
    assert (found.marked.hint, found.marked.parameters["case"]) == ("no_answer", "f2_k1")


def test_an_endless_loop_is_stopped_and_the_case_named():
    found = run_code(HANGS, seconds=1)
    assert found.stopped == "time"
    assert (found.marked.hint, found.marked.parameters["case"]) == ("no_answer", "f2_k3")
    assert found.marked.marks["f2_k2"]


@posix
def test_children_of_the_code_are_stopped_with_it(tmp_path):
    note = tmp_path / "pid"
    source = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
open({str(note)!r}, "w").write(str(child.pid))
while True: pass
"""
    assert run_code(source, seconds=2).stopped == "time"
    pid = int(note.read_text())
    deadline = time.monotonic() + 20
    while alive(pid):
        assert time.monotonic() < deadline, "the child outlived the box"


def alive(pid: int) -> bool:
    """Is it running? One that ended but was not yet collected by its new parent is not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(done.stdout.strip()) and not done.stdout.strip().startswith("Z")


linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to whom we say")

SESSION = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True, env={{}})
open({note!r}, "w").write(str(child.pid))
"""
DAEMON = """
import os, signal
end, begin = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open({note!r}, "w").write(str(os.getpid()))
        os.closerange(0, 100)
        signal.pause()
    os._exit(0)
os.wait()
os.close(begin)
os.read(end, 1)
"""


@linux
@pytest.mark.parametrize("leave", [SESSION, DAEMON], ids=["in a session of its own", "a daemon"])
@pytest.mark.parametrize(
    ("rest", "stopped"), [(RIGHT, ""), ("while True: pass", "time"), ("import os; os._exit(3)", "ended")]
)
def test_a_child_that_leaves_its_session_is_stopped_too(tmp_path, leave, rest, stopped):
    note = tmp_path / "pid"
    assert run_code(leave.format(note=str(note)) + rest, seconds=30 if stopped != "time" else 2).stopped == stopped
    assert not alive(int(note.read_text()))


@linux
def test_linux_holds_everything_back():
    assert run_code(RIGHT, seconds=30).without == ()


@linux
def test_children_that_make_children_are_outrun():
    source = "import os\nfor _ in range(4):\n    if os.fork() == 0:\n        os.setsid()\n"
    source += "os.write(1, b'%d\\n' % os.getpid())\nwhile True: pass"
    found = run_code(source, seconds=3)
    pids = [int(line) for line in found.printed.split()]
    assert len(pids) > 1
    assert not any(alive(pid) for pid in pids)


@linux
def test_the_box_ends_with_the_program_that_opened_it(tmp_path):
    note = tmp_path / "pid"
    source = f"import os\nopen({str(note)!r}, 'w').write(str(os.getpid()))\nprint(1)\nwhile True: pass"
    opener = f"from recall_core.course import run_code; run_code({source!r}, seconds=600)"
    apart = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", opener], cwd=ROOT, env=apart) as program:
        deadline = time.monotonic() + 60
        while not (note.exists() and note.read_text()):
            assert time.monotonic() < deadline
        assert len(list(tmp_path.iterdir())) == 2
        program.kill()
    while alive(int(note.read_text())) or list(tmp_path.iterdir()) != [note]:
        assert time.monotonic() < deadline + 20, "the box outlived the program"


def test_what_the_system_cannot_hold_back_is_said(monkeypatch):
    child = codebox._child_source()
    lacking = child.replace('if sys.platform != "linux":', "if True:").replace(
        "import resource", "import no_such_module"
    )
    assert lacking != child
    monkeypatch.setattr(codebox, "_child_source", lambda: lacking)
    found = run_code(RIGHT, seconds=30)
    assert (found.stopped, found.without, found.marked.correct) == ("", ("children", "memory"), True)


GARBAGE = [
    *(b"\xff\xfe", b"5", b"[]", b"null", b"[" * 100_000, b"1" * 9999, b'{"stopped": 7}', b'{"stopped": []}', b"{}"),
    *(b'{"value": "x"}', b'{"stopped": "time", "message": 3}'),
    b'{"value": [], "kind": 3, "error": "", "message": {}, "changed": 0}',
    b'{"value": "1", "kind": "", "error": [], "message": "", "changed": false}',
    b'{"value": 1, "kind": "", "error": [3], "message": "", "changed": false}',
    b'{"value": ' + b"9" * 400 + b', "kind": "", "error": [], "message": "", "changed": false}',
]


@pytest.mark.parametrize("line", GARBAGE, ids=lambda line: line[:40].decode(errors="replace"))
def test_a_line_that_is_no_answer_ends_the_answers(line):
    good = {"value": 1.0, "kind": "float", "error": [], "message": "\ud800", "changed": False}
    said = b'{"started": ["memory", 3]}\n' + json.dumps(good).encode() + b"\n" + line + b"\n"
    kept = [good | {"message": "?"}]
    assert codebox._read_answers(said) == (kept, ("memory",), "ended", "")
    assert codebox._read_answers(line)[0] == []
    assert codebox._read_answers(said + b'{"stopped": "", "message": ""}\n') == (kept, ("memory",), "ended", "")


@pytest.mark.parametrize(
    "source",
    [
        "x = '\ud800'",
        "import os\nfor name in os.listdir(): os.remove(name)\n" + RIGHT,
        "import os\nfor name in os.listdir():\n    os.remove(name)\n    os.mkdir(name)\n" + RIGHT,
        "import os, shutil\nshutil.rmtree(os.getcwd())\n" + RIGHT,
        "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\n" + RIGHT,
        "import os; os.closerange(0, 64)\n" + RIGHT,
        "import os; os.closerange(3, 64)\n" + RIGHT,
        "import sys; sys.stdout.buffer.write(bytes(range(256)))\n" + RIGHT,
        "print('\\ud800')\n" + RIGHT,
        "(" * 5000,
        "-" * 100_000 + "1",
        "class Bad(Exception):\n    def __str__(self): raise SystemExit\nraise Bad",
        "class Bad(Exception):\n    def __str__(self): raise ValueError\nraise Bad",
        "raise Exception('\\ud800' * 1000)",
        "raise SyntaxError(3)",
        "raise KeyboardInterrupt",
        "def recall_at_k(a, b, k): raise SystemExit(0)",
        "def recall_at_k(a, b, k): return recall_at_k(a, b, k)",
        "def recall_at_k(a, b, k): return 10**400",
        "def recall_at_k(a, b, k): return 1j",
        "import numpy as np\ndef recall_at_k(a, b, k): return np.complex128(1)",
        "def recall_at_k(a, b, k): a.shape = -1; raise ValueError",
        "class Bad(float):\n    def __float__(self): raise KeyError\ndef recall_at_k(a, b, k): return Bad()",
        "class Bad:\n    @property\n    def __class__(self): raise KeyError\ndef recall_at_k(a, b, k): return Bad()",
        "recall_at_k = type('x' * 10**7, (), {'__init__': lambda *_: None})",
        "import ctypes; ctypes.string_at(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        *(
            f"import os\nfor at in range(3, 64):\n    try: os.write(at, {some})\n    except OSError: pass\n" + RIGHT
            for some in ("b'[' * 100_000 + bytes([10])", "b'x' * 10_000_000")
        ),
    ],
    ids=lambda source: source[:60],
)
def test_no_program_breaks_out_of_the_box(source):
    found = run_code(source, seconds=10)
    assert found.stopped in {"", "syntax", "failed", "no_function", "time", "output", "ended"}
    assert len(found.marked.marks) == len(f3_cases())
    for words in (found.message, found.printed, *map(str, found.marked.parameters.values())):
        words.encode()
    assert len(found.message) <= codebox.WORDS


@pytest.mark.parametrize("answer", ["10**400", "1j", "np.complex128(1)", "np.array([0.5])", "'0.5'", "True", "None"])
def test_what_is_no_number_is_no_answer(answer):
    found = run_code(f"import numpy as np\ndef recall_at_k(a, b, k): return {answer}", seconds=30)
    assert (found.stopped, found.marked.correct) == ("", False)
    assert found.marked.hint in ("no_number", "raised")


def test_the_expected_answers_are_nowhere_in_the_box():
    found = run_code("""
import gc, os, sys
print([name for _, _, names in os.walk(".") for name in names])
frame, there = sys._getframe(), []
while frame:
    there += [name for name in (*frame.f_locals, *frame.f_globals) if "expected" in name or "misreading" in name]
    frame = frame.f_back
there += [one for one in gc.get_objects() if type(one) is dict and {"expected", "misreadings"} & set(map(str, one))]
print(there)
try:
    import recall_core
except ImportError:
    print("no module of ours")
""")
    assert found.printed == "[]\n[]\nno module of ours\n"


def test_a_box_that_cannot_be_opened_is_told(monkeypatch):
    def fail(*_args, **_choices):
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(codebox.subprocess, "Popen", fail)
    with pytest.raises(DataError, match=r"cannot be opened \(Resource temporarily unavailable\)"):
        run_code(RIGHT)


@posix
def test_too_much_memory_is_refused_and_the_program_lives():
    found = run_code(RIGHT.replace("    return", "    hog = bytearray(2**32)\n    return"), seconds=30)
    assert (found.stopped, found.marked.hint) == ("", "memory")


def test_too_much_output_is_stopped():
    found = run_code("while True: print('x' * 1000)", seconds=30)
    assert found.stopped == "output"
    assert len(found.printed) == codebox.SHOWN


@posix
def test_a_file_that_grows_too_large_is_refused():
    found = run_code("open('x', 'wb').write(bytes(2**20))\n" + RIGHT, seconds=30)
    assert (found.stopped, found.message.split(":")[:2]) == ("failed", ["line 1", " OSError"])


def test_the_code_sees_neither_this_program_s_environment_nor_its_folder(monkeypatch):
    monkeypatch.setenv("RECALL_SECRET", "x")
    found = run_code(
        "import os; print(sorted(k for k in os.environ if k.startswith('RECALL')), os.path.exists('recall_core'))"
    )
    assert found.printed == "[] False\n"


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(codebox.tempfile, "tempdir", str(tmp_path))
    run_code(RIGHT, seconds=30)
    run_code(HANGS, seconds=0.5)
    assert list(tmp_path.iterdir()) == []


# ---- the file to run at home ----------------------------------------------------------------------------------------


def at_home(tmp_path, source, *arguments, words=ENGLISH):
    (tmp_path / "test_recall.py").write_text(checks_file(words), encoding="utf-8")
    if source is not None:
        (tmp_path / "recall.py").write_text(source, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", "test_recall.py", *arguments],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        check=False,
    )


def test_the_file_passes_a_right_solution(tmp_path):
    done = at_home(tmp_path, RIGHT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"all {len(f3_cases())} cases passed" in done.stdout


def test_the_file_shows_a_wrong_solution_its_input(tmp_path):
    done = at_home(tmp_path, LEFT_OUT.replace("mean()", "mean() if relevant.any() else 0.0"), "recall.py")
    assert done.returncode == 1, done.stderr
    for words in ("k = 1", "expected: 0.25", "got: 0.333", ENGLISH["left_out"]):
        assert words in done.stdout


def test_the_file_shows_errors_and_what_is_no_number(tmp_path):
    assert "ZeroDivisionError: division by zero" in at_home(tmp_path, "def recall_at_k(a, b, k): return 1 / 0").stdout
    assert "got: NoneType" in at_home(tmp_path, "def recall_at_k(a, b, k): ...").stdout


@pytest.mark.parametrize("source", [None, "x = 1"])
def test_the_file_says_when_there_is_nothing_to_test(tmp_path, source):
    done = at_home(tmp_path, source)
    assert done.returncode == 2
    assert "recall_at_k" in done.stdout


def test_the_file_speaks_the_reader_s_language(tmp_path):
    done = at_home(tmp_path, "x = 1", words={"no_function": "nincs recall_at_k függvény: {file}"})
    assert done.stdout == "nincs recall_at_k függvény: recall.py\n"


def test_the_file_needs_numpy_alone():
    tree = ast.parse(checks_file())
    imported = {
        alias.name.split(".")[0] if isinstance(node, ast.Import) else node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported - set(sys.stdlib_module_names) == {"numpy"}


def test_every_verdict_has_words():
    hints = set(f3.__doc__.split("Keys of hints")[1].split("``")[1::2]) - {"no_answer", "IndexError"}
    assert hints <= set(ENGLISH)
