import subprocess
import sys

import pytest

from quizapp.bank.model import Forbidden
from quizapp.judge.server.name_rules import check_names, first_forbidden, used_names


def first_use(source: str | bytes, names: list[str]) -> tuple[str, int] | None:
    return first_forbidden(used_names(source), names)


@pytest.mark.parametrize(
    "source",
    [
        "def f(model):\n    adapters = {m for m in model}\n    return len(adapters), adapters.pop()",
        "def f(ray):\n    return ray + ray.sum()",
        "def composer():\n    return 1\nvalue = composer()",
        "for array in (1, 2):\n    print(array)",
        '"""adapters"""\nnote = "adapters"  # adapters',
    ],
)
def test_own_names_may_be_spelt_like_a_library(source):
    assert first_use(source, ["adapters", "ray", "composer", "array"]) is None


@pytest.mark.parametrize(
    ("source", "hit"),
    [
        ("import adapters", ("adapters", 1)),
        ("import adapters as a\nx = a.init(3)", ("adapters", 1)),
        ("from adapters.nn import Adapter", ("adapters.nn.Adapter", 1)),
        ("try:\n    import adapters\nexcept ImportError:\n    adapters = None", ("adapters", 2)),
        ("adapters = __import__('adapters')", ("adapters", 1)),
        ("import importlib\nadapters = importlib.import_module('adapters')", ("adapters", 2)),
        ("open = open\nopen('file')", ("open", 1)),
        ("torch = __import__('torch')\ntorch.optim.Adam", ("torch.optim.Adam", 2)),
        ("def f(loss):\n    loss.backward()", ("backward", 2)),
    ],
)
def test_libraries_are_found(source, hit):
    assert first_use(source, ["adapters", "open", "torch.optim", ".backward"]) == hit


OWN_CLASS = """
class Step:
    def __init__(self, scaler):
        self._scale = scaler.get_scale()

    def softmax(self, x):
        return x

    def run(self, x):
        return self.softmax(x) * self._scale, Step.softmax(self, x)
"""


@pytest.mark.parametrize(
    "source",
    [
        "from zipfile import struct\nstruct.pack('d', x)",
        "import zipfile\nzipfile.struct.pack('d', x)",
        "from zipfile import struct as s",
        "import gzip as g\ng.struct",
    ],
)
def test_a_module_is_found_in_another_module(source):
    assert first_use(source, ["struct"]) is not None


def test_an_attribute_of_ones_own_may_be_spelt_like_a_module():
    assert (
        first_use("class A:\n    def f(self, other):\n        return self.struct, other.struct", ["struct"])
        is None
    )


def test_members_of_a_class_of_ones_own_may_be_spelt_like_forbidden_attributes():
    assert first_use(OWN_CLASS, [".softmax", "._scale"]) is None


@pytest.mark.parametrize(
    "line",
    ["x = scaler._scale", "x = self.scaler._scale", "x = torch.softmax(x)", "x = super().softmax(x)"],
)
def test_such_a_class_does_not_hide_the_attributes_of_others(line):
    source = OWN_CLASS + f"        {line}\n"
    assert first_use(source, [".softmax", "._scale"]) is not None


@pytest.mark.parametrize(
    "line",
    [
        "step = Step(s)\nstep.softmax(x)",
        "step: Step = Step(s)\nstep.softmax(x)",
        "Step(s).softmax(x)",
        "class Loss:\n    def f(self, x):\n        self.step = Step(s)\n        return self.step.softmax(x)",
    ],
)
def test_methods_of_a_class_of_ones_own_may_be_called_on_its_objects(line):
    assert first_use(f"{OWN_CLASS}\n{line}\n", [".softmax", "torch.softmax"]) is None


@pytest.mark.parametrize(
    "line",
    [
        "step = Step(s)\nstep = x\nstep.softmax(0)",
        "step = Step(s)\ndef f(step):\n    return step.softmax(0)",
        "step = Other(s)\nstep.softmax(x)",
        "Step(s).x.softmax(0)",
    ],
)
def test_what_may_be_another_object_is_found(line):
    assert first_use(f"{OWN_CLASS}\n{line}\n", [".softmax"]) is not None


@pytest.mark.parametrize(
    "source",
    [
        "from torch.masked import softmax as own",
        "import torch\ntorch._softmax(x, 0, False)",
        "import torch\ntorch._C._VariableFunctions.softmax(x, 0)",
        "import torch\ntorch._C._nn.softmax(x, 0)",
        "import torch\ntorch._VF.softmax(x, 0)",
        "import torch\ntorch.ops.aten._softmax.default(x, 0, False)",
        "import torch\ntorch.ops.aten.softmax_forward(x)",
        "from torch._refs.nn import functional as F\nF.softmax(x)",
        "from torch._VF import _fused_softmax as own",
    ],
)
@pytest.mark.parametrize("name", [".softmax", "torch.nn.functional.softmax"])
def test_a_function_of_torch_is_found_where_torch_keeps_it(source, name):
    masked = "torch.masked" in source and not name.startswith(".")
    assert (first_use(source, [name]) is None) == masked


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch._foreach_add_([x], 1)\ntorch._C._set_grad_enabled(True)",
        "import torch\ntorch.ops.aten.mm(x, x)\ntorch._softmaxed(x)",
    ],
)
def test_other_private_functions_of_torch_are_not(source):
    assert first_use(source, [".softmax", "torch.add2", "torch.optim", "torch.cat"]) is None


def test_an_attribute_that_self_inherits_is_found():
    assert first_use("class A(B):\n    def f(self):\n        return self._scale", ["._scale"]) == (
        "_scale",
        3,
    )


def test_a_source_is_read_in_the_encoding_that_python_reads_it_in():
    source = b"# coding: utf-7\n# a comment +AAo-import adapters\n"
    assert first_use(source, ["adapters"]) == ("adapters", 3)
    assert first_use(b"\xef\xbb\xbfimport adapters\r\n", ["adapters"]) == ("adapters", 1)


def test_code_that_cannot_be_searched_is_not_allowed():
    rule = Forbidden(behaviour=0, names=("adapters",), says="Write it yourself.")
    deep = b"x = " + b"+".join([b"1"] * 100_000)
    (result,) = check_names((rule,), deep)
    assert not result.passed
    assert "nested too deeply" in result.message


def test_a_long_chain_gives_one_long_name_not_one_for_each_part():
    uses = list(used_names("import torch\ntorch" + ".b" * 2000))
    assert sum(len(name) for name, _ in uses) < 20_000
    assert first_forbidden(uses, ["torch.b.b"]) is not None
    assert first_forbidden(uses, ["torch.c"]) is None


def methods_and_instances(size: int) -> str:
    methods = "".join(f"    def m{n}(self): pass\n" for n in range(size))
    return f"class C:\n{methods}" + "".join(f"c{n} = C()\n" for n in range(size))


# Sources whose names, or pairs of names, would be as many as the square of their length.
SQUARES = {
    "words of a private name": lambda size: f"import torch\ntorch._{'a_' * size}",
    "words of a private module": lambda size: f"import torch._{'a_' * size}",
    "parts of a name": lambda size: f"import torch\ntorch{'.b' * (size // 4)}",
    "uses of a long import": lambda size: f"import a{'b' * size} as c\n" + "c.d; c\n" * size,
    "names from a long module": lambda size: (
        f"from a{'b' * size} import " + ", ".join(f"c{n}" for n in range(size))
    ),
    "strings for a long import": lambda size: f"import a{'b' * size} as c\n" + "getattr(c, 'd')\n" * size,
    "methods of many objects": methods_and_instances,
}


# In a process of its own: CPython 3.11 hangs when it traces after another test has used an asynchronous
# exception, which `CpuTimeLimit` does.
MEASURE = """
import sys, tracemalloc
from quizapp.bank.model import Forbidden
from quizapp.judge.server.name_rules import check_names

lines = 0

def count(frame, event, argument):
    global lines
    lines += event == "line"
    return count

rule = Forbidden(behaviour=0, names=(".softmax", "torch.optim.Adam"), says="Write it yourself.")
source = sys.stdin.buffer.read()
tracemalloc.start()
sys.settrace(count)
(result,) = check_names((rule,), source)
sys.settrace(None)
assert result.passed, result
print(lines, tracemalloc.get_traced_memory()[1])
"""


def work(source: str) -> tuple[int, int]:
    """Lines of Python run and bytes held at most while checking a source."""
    command = [sys.executable, "-c", MEASURE]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    lines, peak = map(int, done.stdout.split())
    return lines, peak


@pytest.mark.slow
@pytest.mark.parametrize("name", SQUARES)
def test_the_work_grows_with_the_source_not_with_its_square(name):
    small, large = (work(SQUARES[name](size)) for size in (300, 2400))
    assert large[0] < 12 * small[0] + 1000
    assert large[1] < 12 * small[1] + 1_000_000


def test_a_name_beyond_the_limit_is_still_found_by_its_beginning():
    long = "b" * 1000
    assert first_use(f"import torch.optim.{long}", ["torch.optim"]) is not None
    assert first_use(f"import torch\ntorch._{long}.softmax", ["torch.nn"]) is None
