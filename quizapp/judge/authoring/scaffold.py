"""Writes a new exercise folder: a small exercise that passes every check, for the author to replace."""

import re
from pathlib import Path
from textwrap import dedent

from quizapp.errors import QuizError


def scaffold(folder: Path) -> Path:
    """Create ``folder`` with a small working exercise to replace; raises `QuizError` if it cannot."""
    slug = folder.name
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", slug):
        raise QuizError(
            f"{slug!r} is not a slug; use lower-case words joined by '-', such as 'weight-tying'."
        )
    if folder.exists():
        raise QuizError(f"{folder} already exists; choose another name.")
    module = slug.replace("-", "_")
    try:
        for name, text in _files(slug, module).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    except OSError as error:
        raise QuizError(f"{folder} cannot be written: {error.strerror}.") from None
    return folder


def _files(slug: str, module: str) -> dict[str, str]:
    files = {
        "exercise.yaml": _EXERCISE.format(title=slug.replace("-", " ").capitalize(), module=module),
        "prompt.md": _PROMPT.format(module=module),
        "starter.py": _STARTER,
        "solution.py": _module("values.to(torch.float64).mean().item() * factor"),
        "probes.py": _PROBES,
        f"hidden/test_{module}.py": _TEST,
        "mutants.yaml": _MUTANTS,
    }
    rights = (
        "float(values.double().sum() / values.numel()) * factor",
        "float(torch.mean(values.double() * factor))",
        "sum(float(v) for v in values.flatten()) / values.numel() * factor",
    )
    files |= {f"right/right_{n}.py": _module(text) for n, text in enumerate(rights, 1)}
    return files


def _module(expression: str) -> str:
    return (
        "import torch\n\n\ndef scaled_mean(values: torch.Tensor, factor: float) -> float:\n"
        f"    return {expression}\n"
    )


_EXERCISE = """
title: "{title}"
level: easy
topic: tensors
minutes: 10
module: {module}.py
behaviours:
  1: scaled_mean returns the mean of all values times the factor.
hints:
  - text: Which dimensions does the mean run over?
  - text: Tensor.mean without arguments takes all of them.
  - text: Multiply the mean by the factor and return a float.
rubric:
  - text: The mean runs over every dimension.
    weight: 2
    terms: [every dimension, all values]
  - text: Summing in float64 keeps the mean of many values exact.
    weight: 1
    terms: [float64, double precision]
  - text: The result is a Python float, detached from any graph.
    weight: 1
    terms: [item, detached]
"""
_PROMPT = """
# Scaled mean

Write `scaled_mean(values, factor)` in `{module}.py`: the mean of all values, times `factor`, as a float.
"""
_STARTER = '''
import torch


def scaled_mean(values: torch.Tensor, factor: float) -> float:
    """The mean of all values, times ``factor``."""
    raise NotImplementedError
'''
_PROBES = """
def inputs(draw):
    shapes = [draw.sizes(2), draw.sizes(3)]
    return {"cases": [{"values": draw.normal(*s, shift=1.0), "factor": draw.uniform(2, 3)} for s in shapes]}


def probe_mean(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            record("got", code.scaled_mean(case["values"], case["factor"]))
"""
_TEST = """
from quizapp.judge.testing.checks import behaviour, close


@behaviour(1)
def test_scaled_mean(observe):
    for i, case in enumerate(observe.given["cases"]):
        close(
            observe[f"mean/{i}/got"],
            float(case["values"].double().mean() * case["factor"]),
            "The result is not the scaled mean of all values.",
            rtol=1e-5,
            call=f"scaled_mean(values of shape {tuple(case['values'].shape)}, {case['factor']:.3f})",
        )
"""
_MUTANTS = """
- name: sum_instead_of_mean
  breaks: 1
  says: scaled mean
  why: It adds the values up and never divides by their number.
  edits:
    - replace: mean()
      with: sum()
- name: factor_ignored
  breaks: 1
  says: scaled mean
  edits:
    - replace: " * factor"
      with: ""
- name: median_instead_of_mean
  breaks: 1
  says: scaled mean
  edits:
    - replace: mean()
      with: median()
- name: divided_by_the_factor
  breaks: 1
  says: scaled mean
  edits:
    - replace: "* factor"
      with: / factor
- name: factor_added
  breaks: 1
  says: scaled mean
  edits:
    - replace: "* factor"
      with: + factor
- name: always_zero
  breaks: 1
  says: scaled mean
  edits:
    - replace: values.to(torch.float64).mean().item() * factor
      with: "0.0"
- name: first_row_only
  breaks: 1
  says: scaled mean
  edits:
    - replace: values.to
      with: values[0].to
- name: absolute_values
  breaks: 1
  says: scaled mean
  edits:
    - replace: return values.to(torch.float64).mean().item() * factor
      with: |-
        values = values.abs()
        return values.to(torch.float64).mean().item() * factor
"""
