"""A submission cannot look at the judge's own part of the process that it runs in."""

import subprocess
import sys

import pytest

from tests.judge.field import DATA, Field

SOLUTION = (DATA / "blend" / "solution.py").read_text(encoding="utf-8")

# Each looks for something of the judge's and gives what it finds.
LOOKS = {
    "callers": "[f for f in walk(sys._getframe()) if f.f_code.co_name.startswith(('probe', 'run_'))]",
    "callers_by_depth": "sys._getframe(6)",
    "stack": "[e for e in inspect.stack() if e.function.startswith('probe')]",
    "generator": "[f for g in [(i for i in 'a')] for f in walk(g.gi_frame) if 'probe' in f.f_code.co_name]",
    "globals_of_frames": "[f for f in walk(sys._getframe()) if 'probe_blend' in f.f_globals]",
    "objects": "gc.get_objects()",
    "referrers": "gc.get_referrers(torch)",
    "threads": "sys._current_frames()",
    "subclasses": "[k for k in object.__subclasses__() if k.__name__ in ('Recorder', 'WorkerJob')]",
    "modules": "[name for name in sys.modules if name.startswith('quizapp')]",
    "functions_of_probes": "[v for v in vars(sys.modules['_probes']).values() if inspect.isfunction(v)]",
    "trace": "sys.settrace(lambda *_: None)",
    "profile": "sys.setprofile(lambda *_: None)",
    "audit": "sys.addaudithook(lambda *_: None)",
    "own_guard": "vars(types.FrameType)['f_back'].fget.__closure__",
    "globals_of_guard": "vars(types.FrameType)['f_back'].fget.__globals__",
    "interpreter": "ctypes.pythonapi",
}

LOOK = """
import ctypes, gc, inspect, sys, threading, types
import torch

def walk(frame):
    while frame is not None:
        if frame.f_code.co_filename != __file__:
            yield frame
        frame = frame.f_back

LOOKS = {
<looks>
}

def found(look):
    try:
        return bool(look())
    except Exception:
        return False

def blend(x, y, w):
    raise RuntimeError("found: " + (", ".join(k for k, look in LOOKS.items() if found(look)) or "nothing"))
"""


def test_a_submission_finds_nothing_of_the_judge(field: Field) -> None:
    looks = "\n".join(f"{name!r}: lambda: {look}," for name, look in LOOKS.items())
    verdict = field.grade(LOOK.replace("<looks>", looks).encode(), seconds=60.0)
    shown = " ".join([verdict.error or "", *(test.message for test in verdict.tests)])
    assert "found: nothing" in shown, shown


HABITS = """
import collections, ctypes, gc, inspect, logging, sys, traceback, typing
import torch

class Large: pass
class Small(Large): pass
def typed(x: int) -> float: return float(x)
def typed_sum(x): return x.sum()

def look():
    frame = sys._getframe()
    assert frame.f_code.co_name == "look" and frame.f_back.f_globals is globals()
    assert [entry.function for entry in inspect.stack()][:2] == ["look", "<module>"]
    assert typed.__globals__ is globals() and typed.__code__.co_name == "typed"
    try:
        1 / 0
    except ZeroDivisionError:
        assert "in look" in traceback.format_exc()
    logging.warning("a warning from %s", "here")
    assert collections.namedtuple("Pair", "a b")(1, 2).b == 2
    n = 3
    assert inspect.getclosurevars(lambda: n).nonlocals == {"n": 3}
    assert typing.get_type_hints(typed) == {"x": int, "return": float}
    assert float(torch.jit.script(typed_sum)(torch.ones(3))) == 3.0
    gc.collect()
    assert Small in Large.__subclasses__()
    assert ctypes.c_uint32.from_buffer_copy(ctypes.c_float(1.0)).value == 0x3F800000
    typed.__code__ = typed_sum.__code__

look()
"""


def test_a_submission_can_look_at_itself(field: Field) -> None:
    verdict = field.grade((HABITS + SOLUTION).encode(), seconds=60.0)
    assert verdict.passed, verdict


GAUGE = """
from quizapp.judge.testing.memory import MemoryGauge
gauge, size = MemoryGauge(), 8 << 20
print(gauge.works)
for make in (bytearray, lambda n: [b"%04096d" % i for i in range(n // 4096)]):
    before = gauge.occupied()
    kept = make(size)
    print(gauge.occupied() - before > size // 2)
    del kept
    print(gauge.settled(before + size // 2) - before < size // 2)
"""


def test_a_gauge_sees_memory_in_every_form() -> None:
    # In a process of its own, like a worker: the threads of other tests would free and take memory meanwhile.
    printed = subprocess.run(
        [sys.executable, "-c", GAUGE], capture_output=True, text=True, check=True
    ).stdout.split()
    if printed[0] == "False":
        pytest.skip("this system does not tell how much memory is occupied")
    assert printed == ["True"] * 5
