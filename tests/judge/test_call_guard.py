"""Names that a submission computes: what they stand for refuses it, and nobody else."""

import functools

import pytest

from quizapp.judge import grade
from quizapp.judge.worker.call_guard import _guarded, _Refusal, install
from tests.judge.field import DATA, Field, exercise


def walled(field: Field, source: str):  # type: ignore[no-untyped-def]
    return grade(exercise("walled"), source.encode(), device="cpu", timeout=60.0, tier=field.tier)


def test_code_of_ones_own_passes_beside_probes_that_call_what_is_forbidden(field: Field) -> None:
    verdict = walled(field, (DATA / "walled" / "solution.py").read_text(encoding="utf-8"))
    assert verdict.passed, verdict


def test_what_torch_calls_inside_goes_on(field: Field) -> None:
    source = (
        "import torch\nfrom torch import nn\n\nlayer = nn.Linear(3, 4)\n"
        "heads = nn.MultiheadAttention(4, 2)\n\n"
        "def shares(x):\n    heads(*[torch.ones(3, 4)] * 3)\n    layer(torch.ones(3)).sum().backward()\n"
        "    return torch.log_softmax(x, 0).exp()\n"
    )
    verdict = walled(field, source)
    assert verdict.passed, verdict


def test_what_torch_does_with_its_own_names_goes_on(field: Field) -> None:
    source = """
import _pickle
import torch
from torch.profiler import record_function

def shares(x):
    print(x, torch.nn.Parameter(x))  # torch makes a named tuple of torch.autograd
    x = _pickle.loads(_pickle.dumps(x))  # code in C imports torch._utils
    with record_function("shares"):
        torch.optim.Adam([torch.nn.Parameter(x)]).step()
    scores = torch.func.grad(lambda x: x.square().sum() / 2)(x)
    return torch.log_softmax(scores, 0).exp()
"""
    verdict = walled(field, source)
    assert verdict.passed, verdict


def test_what_torch_decorated_can_be_looked_below() -> None:
    def function() -> int:
        return 1

    @functools.wraps(function)
    def decorated() -> int:
        return function()

    install((), "nowhere.py")  # notes that this module was there before any submission
    guarded = _guarded(decorated, "decorated", _Refusal("nowhere.py", "No."))
    assert guarded.__wrapped__ is function  # type: ignore[attr-defined]
    assert guarded() == 1


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("getattr(torch, 'soft' + 'max')(x, 0)", "softmax"),
        ("vars(torch)['soft' + 'max'](x, 0)", "softmax"),
        ("operator.attrgetter('nn.functional.soft' + 'max')(torch)(x, dim=0)", "softmax"),
        ("operator.methodcaller('soft' + 'max', 0)(x)", "softmax"),
        ("getattr(torch.nn, 'Soft' + 'max')(0)(x)", "Softmax"),
        (
            "next(k for k in torch.nn.Module.__subclasses__() if k.__name__ == 'Soft' + 'max')(0)(x)",
            "Softmax",
        ),
        ("sys.modules['torch.spe' + 'cial'].__dict__['soft' + 'max'](x, 0)", "softmax"),
        ("next(map(getattr(torch, 'soft' + 'max'), [x], [0]))", "softmax"),
        ("eval('torch.soft' + 'max(x, 0)')", "softmax"),
    ],
)
def test_a_computed_name_refuses(field: Field, line: str, name: str) -> None:
    source = f"import operator\nimport sys\nimport torch\n\ndef shares(x):\n    return {line}\n"
    verdict = walled(field, source)
    assert verdict.status == "failed", verdict
    messages = [test.message for test in verdict.tests if test.name == "shares"]
    assert messages == [
        f'Your code raised NotAllowed: "Write the softmax yourself. ({name})" (line 6 of walled.py)'
    ]


@pytest.mark.parametrize(
    "line",
    [
        "getattr(torch.nn, 'in' + 'it').ones_(x)",
        "getattr(torch.optim, 'S' + 'GD')([x], 0.1)",
        "getattr(torch, 'auto' + 'grad').grad(x.sum(), x)",
        "importlib.import_module('torch.nn.in' + 'it')",
        "importlib.import_module('pick' + 'le').dumps(x)",
        "getattr(importlib, 'import_module')('sci' + 'py.optimize')",
        "getattr(builtins, '__imp' + 'ort__')('pick' + 'le')",
    ],
)
def test_modules_classes_and_imports_refuse(field: Field, line: str) -> None:
    source = f"import builtins\nimport importlib\nimport torch\n\ndef shares(x):\n    return {line}\n"
    verdict = walled(field, source)
    assert verdict.status == "failed", verdict
    messages = [test.message for test in verdict.tests if test.name == "shares"]
    assert messages[0].startswith('Your code raised NotAllowed: "None of these is needed. ('), messages
