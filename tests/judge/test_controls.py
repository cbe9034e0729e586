"""Right submissions of every habit pass, in every tier."""

import pytest

from tests.judge.field import DATA, Field

SOLUTION = (DATA / "blend" / "solution.py").read_text(encoding="utf-8")

CONTROLS = {
    "plain": SOLUTION,
    "noisy": "print('hello ' * 1000)\nimport sys\nprint('x' * 300000, file=sys.stderr)\n" + SOLUTION,
    "threaded": SOLUTION
    + """
import threading
_blend = blend
def blend(x, y, w):
    out = []
    def run():
        try: out.append(_blend(x, y, w))
        except ValueError as error: out.append(error)
    thread = threading.Thread(target=run); thread.start(); thread.join()
    if isinstance(out[0], Exception): raise out[0]
    return out[0]
""",
    "thread_left_waiting": "import threading\n"
    "threading.Thread(target=threading.Event().wait, daemon=True).start()\n" + SOLUTION,
    "pool": "from concurrent.futures import ThreadPoolExecutor\nlist(ThreadPoolExecutor(2).map(abs, [1]))\n"
    + SOLUTION,
    "many_torch_threads": "import torch\ntorch.set_num_threads(4)\n"
    "a = torch.randn(300, 300) @ torch.ones(300, 300)\n" + SOLUTION,
    "slow": "import time\ntime.sleep(0.2)\n" + SOLUTION,
    "transposed": SOLUTION.replace(
        "return w * x + (1 - w) * y", "return (w * x.mT + (1 - w) * y.mT).mT"
    ).replace(
        "def blend(x, y, w):",
        "def blend(x, y, w):\n    if x.dim() == 1: return blend(x[None], y[None], w)[0]",
    ),
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass Config:\n    size: int = 3\nConfig()\n"
    + SOLUTION,
    "main_guard": SOLUTION + "\nif __name__ == '__main__':\n    raise SystemExit('never')\n",
    "three_hundred_megabytes": "import torch\nbig = torch.ones(75 << 20)\ndel big\n" + SOLUTION,
    "byte_order_mark": "\ufeff" + SOLUTION,
    "windows_lines": SOLUTION.replace("\n", "\r\n"),
    "unicode": "# Überblick: α ≤ β ∑\nname = 'π'\nprint('π')\n" + SOLUTION,
    "asyncio": "import asyncio\nasync def nap(): await asyncio.sleep(0)\nasyncio.run(nap())\n" + SOLUTION,
    "temporary_file": "import tempfile\nwith tempfile.TemporaryFile() as f: f.write(b'x')\n" + SOLUTION,
    "saves_and_loads": "import torch\ntorch.save({'a': torch.ones(2)}, 'a.pt')\ntorch.load('a.pt')\n"
    + SOLUTION,
    "copies_files": "import shutil, os, pathlib\nopen('a', 'w').close()\n"
    "shutil.copy('a', 'b')\nshutil.copy2('a', 'c')\n"
    "os.mkdir('d')\nshutil.copytree('d', 'e')\npathlib.Path('a').touch()\nos.chmod('a', 0o600)\n"
    "pathlib.Path('f').touch()\nos.remove('f')\n" + SOLUTION,
    "numpy": "import numpy as np\nassert np.ones(3).sum() == 3\n" + SOLUTION,
    "lazy_imports": "import torch.func, statistics, decimal, fractions, sqlite3, ctypes, unittest.mock\n"
    + SOLUTION,
    "inspects_itself": SOLUTION + "\nimport inspect\nassert 'def blend' in inspect.getsource(blend)\n",
    "global_seed": "import torch, random\ntorch.manual_seed(0); random.seed(0)\n" + SOLUTION,
    "no_grad_left_on": SOLUTION + "\nwith torch.no_grad(): blend(torch.ones(2), torch.ones(2), 0.5)\n",
    "future_and_types": "from __future__ import annotations\nfrom typing import Any\n" + SOLUTION,
    "returns_parameter_view": SOLUTION.replace(
        "return x * torch.sigmoid(self.w)", "return x * self.w.sigmoid()[:]"
    ),
}
AT_T0 = ("plain", "windows_lines")


@pytest.mark.parametrize("name", CONTROLS)
def test_right_code_passes(name: str, field: Field) -> None:
    if field.tier == "T0" and name not in AT_T0:
        pytest.skip("a spawned worker costs seconds; T0 takes a sample")
    verdict = field.grade(CONTROLS[name].encode(), seconds=30.0)
    assert verdict.passed, verdict
    assert verdict.tier == field.tier
