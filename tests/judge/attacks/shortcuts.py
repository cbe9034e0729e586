"""Submissions that want to pass a real exercise without doing its task.

There are three classes. ``MEANS`` reach what an exercise forbids: each adds a detour to the solution, which
raises where the detour fails, so that the submission passes only if it has used the forbidden thing.
``FORGERIES`` add to the starter, which solves nothing, a way to change what is recorded or compared.
``LIES`` return something that pretends to be a right value.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

from quizapp.paths import exercises


@dataclass(frozen=True)
class Shortcut:
    """A submission for ``exercise`` that must not pass. ``needs_files``: only if files are guarded."""

    exercise: str
    name: str
    source: str
    needs_files: bool = False


@dataclass(frozen=True)
class Means:
    """What an exercise forbids: an attribute of a module, how to use it, and where the detour is taken."""

    exercise: str
    module: str
    attribute: str
    use: str  # an expression with `it`, the forbidden thing; it may also use torch
    public: str  # a function or class of the submission
    operator: str = ""  # an operator of torch that does the same, with `x` for a float tensor
    script: str = ""  # the same as TorchScript


MEANS = (
    Means(
        "label-smoothing",
        "torch.nn.functional",
        "cross_entropy",
        "it(torch.ones(1, 3), torch.tensor([1]))",
        "smoothed_cross_entropy",
        "cross_entropy_loss(x[None], torch.tensor([1]))",
        "torch.nll_loss(x[None], torch.tensor([1]))",
    ),
    Means(
        "stable-cross-entropy",
        "torch",
        "log_softmax",
        "it(torch.ones(3), 0)",
        "log_softmax",
        "log_softmax(x, 0)",
        "torch.log_softmax(x, 0)",
    ),
    Means(
        "layer-norm",
        "torch.nn.functional",
        "layer_norm",
        "it(torch.ones(3), (3,))",
        "LayerNorm",
        "layer_norm(x, [3])",
        "torch.layer_norm(x, [3])",
    ),
    Means(
        "attention",
        "torch.nn.functional",
        "scaled_dot_product_attention",
        "it(*[torch.ones(1, 1, 3, 4)] * 3)",
        "CausalSelfAttention",
        "scaled_dot_product_attention(*[torch.ones(1, 1, 3, 4)] * 3)",
    ),
    Means(
        "flash-attention",
        "torch.nn.functional",
        "scaled_dot_product_attention",
        "it(*[torch.ones(1, 1, 3, 4)] * 3)",
        "flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu(*[torch.ones(1, 1, 3, 4)] * 3)",
    ),
    Means(
        "dropout",
        "torch.nn.functional",
        "dropout",
        "it(torch.ones(3), 0.5)",
        "dropout",
        "dropout(x, 0.5, True)",
        "torch.dropout(x, 0.5, True)",
    ),
    Means(
        "grad-clipping",
        "torch.nn.utils",
        "clip_grad_norm_",
        "it([torch.nn.Parameter(torch.ones(2))], 1.0)",
        "clip_grad_norm",
    ),
    Means("muon", "torch.linalg", "svd", "it(torch.eye(3))", "newton_schulz", "linalg_svd(torch.eye(3))"),
    Means("sgd-momentum", "torch.optim", "SGD", "it([torch.ones(2)], lr=0.1)", "SGD"),
    Means("adamw", "torch.optim", "Adam", "it([torch.ones(2)], lr=0.1)", "AdamW"),
    Means(
        "adaptive-optimizers",
        "torch.optim.adagrad",
        "Adagrad",
        "it([torch.ones(2)], lr=0.1)",
        "adagrad_step",
    ),
    Means(
        "activation-checkpointing",
        "torch.utils.checkpoint",
        "checkpoint",
        "it(torch.sin, torch.ones(2, requires_grad=True), use_reentrant=False)",
        "checkpoint",
    ),
    Means("loss-scaling", "torch.amp", "GradScaler", "it('cpu')", "LossScaler"),
)

# How to get at `it`, without its name in the source. M and A stand for the module's and the attribute's name.
DETOURS = {
    "module_table": "return use(sys.modules[M].__dict__[A])",
    "computed_import": "return use(getattr(importlib.import_module(M), A))",
    "attribute_getter": "return use(operator.attrgetter(f'{M}.{A}'.partition('.')[2])(torch))",
    "thread": """
        out = []
        worker = threading.Thread(target=lambda: out.append(use(getattr(sys.modules[M], A))))
        worker.start(); worker.join()
        return out[0]
        """,
    "thread_target": """
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return use(lambda *a, **k: pool.submit(getattr(sys.modules[M], A), *a, **k).result())
        """,
    "other_file_name": """
        names = {"sys": sys, "M": M, "A": A, "use": use}
        text = "result = use(lambda *a, **k: getattr(sys.modules[M], A)(*a, **k))"
        exec(compile(text, torch.__file__, "exec"), names)
        return names["result"]
        """,
    "renamed_code": """
        def call(*a, **k): return getattr(sys.modules[M], A)(*a, **k)
        call.__code__ = call.__code__.replace(co_filename=threading.__file__)
        return use(call)
        """,
    "own_helper": """
        with open("helper_of_mine.py", "w") as file:
            file.write("import sys\\ndef call(m, a, *p, **k): return getattr(sys.modules[m], a)(*p, **k)")
        sys.path.insert(0, os.getcwd())
        import helper_of_mine
        return use(lambda *a, **k: helper_of_mine.call(M, A, *a, **k))
        """,
    "closure": """
        it = getattr(sys.modules[M], A)
        cells = [c.cell_contents for c in getattr(it, "__closure__", None) or ()]
        return use(next((c for c in cells if callable(c)), it))
        """,
    "unwrapped": """
        it = getattr(sys.modules[M], A)
        return use(getattr(it, "__wrapped__", it))
        """,
    "copied_function": """
        it = getattr(sys.modules[M], A)
        parts = it.__code__, it.__globals__, it.__name__, it.__defaults__, it.__closure__
        return use(types.FunctionType(*parts))
        """,
    "partial": "return use(functools.partial(functools.partial(getattr(sys.modules[M], A))))",
    "by_name_in_a_pickle": """
        data = b"c" + M.encode() + b"\\n" + A.encode() + b"\\n."
        return use(__import__("pick" + "le").loads(data))
        """,
    "evaluated": "return use(eval('sys.modules[M].' + A))",
    "borrowed_builtins": "return use(os.__builtins__['getattr'](os.sys.modules[M], A))",
    "fresh_copy": """
        path = sys.modules[M].__file__
        spec = importlib.util.spec_from_file_location(M + "_copy", path)
        module = importlib.util.module_from_spec(spec)
        module.__package__ = M if path.endswith("__init__.py") else M.rpartition(".")[0]
        spec.loader.exec_module(module)
        return use(getattr(module, A))
        """,
}
_IMPORTS = "import concurrent.futures, functools, importlib.machinery, importlib.util, operator\n"
_IMPORTS += "import os, sys, threading, types\n"


def _split(name: str) -> str:
    """An expression for a name that does not show it."""
    middle = len(name) // 2
    return f"{name[:middle]!r} + {name[middle:]!r}"


def _detour(means: Means, body: str, imports: str = "import torch\n") -> str:
    solution = (exercises() / means.exercise / "solution.py").read_text(encoding="utf-8")
    is_class = f"\nclass {means.public}" in solution
    replaced = f"{means.public}.__init__" if is_class else means.public
    code = f"""
def _use(it):
    result = {means.use}
    return True

def _reach():
    M, A, use = {_split(means.module)}, {_split(means.attribute)}, _use
{indent(dedent(body).strip(), "    ")}

_before = {replaced}
def _with_detour(*arguments, **options):
    if not _reach():
        raise RuntimeError("the detour leads nowhere")
    return _before(*arguments, **options)
{replaced} = _with_detour
"""
    return f"{solution}\n{_IMPORTS}{imports}{code}"


def _means() -> Iterator[Shortcut]:
    for means in MEANS:
        for name, body in DETOURS.items():
            yield Shortcut(means.exercise, f"means/{name}", _detour(means, body))
        if means.operator:
            called, _, rest = means.operator.partition("(")
            aten = "getattr(torch, 'op' + 's').aten"
            body = f"x = torch.ones(3)\ngetattr({aten}, {_split(called)})({rest}\nreturn True"
            yield Shortcut(means.exercise, "means/operator", _detour(means, body))
        if means.script:
            text = f"def g(x):\n    return {means.script}\n"
            half = len(text) - 12
            body = (
                f"torch.jit.CompilationUnit({text[:half]!r} + {text[half:]!r}).g(torch.ones(3))\nreturn True"
            )
            yield Shortcut(means.exercise, "means/script", _detour(means, body))


# For exercises that are to be solved with plain Python: how to import a module that is not allowed.
PLAIN = {
    "float-formats": ("struct", "quantize", "pack('<d', 1.5)"),
    "autograd-engine": ("torch", "Value", "ones(2)"),
}
IMPORTS = {
    "computed": "__import__(A)",
    "module_table": "sys.modules[A]",
    "importlib": "importlib.import_module(A)",
    "subclasses": "sys.modules[next(k for k in object.__subclasses__() if k.__module__ == A).__module__]",
    "other_module": "next(v for m in list(sys.modules.values()) if (v := getattr(m, A, None)) is not None)",
    "re_export": "getattr(__import__('zip' + 'file'), A)",
    "path": "importlib.machinery.PathFinder.find_spec(A).loader.load_module()",
    "thread": "concurrent.futures.ThreadPoolExecutor(1).submit(__import__, A).result()",
    "evaluated": "eval('__import__(A)')",
    "table_cleared": "(sys.modules.pop(A, None), __import__(A))[1]",
    "loaded_again": (
        "(lambda s: (lambda m: (s.loader.exec_module(m), m)[1])(importlib.util.module_from_spec(s)))"
        "(importlib.machinery.PathFinder.find_spec(A))"
    ),
    "extension": "importlib.machinery.PathFinder.find_spec('_' + A).loader.load_module()",
}


def _plain() -> Iterator[Shortcut]:
    for slug, (module, public, use) in PLAIN.items():
        for name, expression in IMPORTS.items():
            means = Means(slug, "", module, "True", public)
            body = f"it = {expression}\nit.{use}\nreturn True"
            yield Shortcut(slug, f"import/{name}", _detour(means, body, ""))
    extras = {
        "pickle": "__import__('pick' + 'le').dumps(1.5, 1)",
        "marshal": "__import__('mar' + 'shal').dumps(1.5)",
        "cast": "memoryview(bytes(8)).cast('d')",
    }
    for name, expression in extras.items():
        means = Means("float-formats", "", "", "True", "quantize")
        yield Shortcut("float-formats", f"import/{name}", _detour(means, f"{expression}\nreturn True", ""))


# What is added to a starter, which solves nothing, to change what the judge sees.
FORGERIES = {
    "recorder_class": """
        import sys
        for kind in object.__subclasses__():
            if kind.__name__ == "Recorder":
                kind.__call__ = lambda self, name, value: self.values.clear()
        """,
    "recorder_module": """
        import sys
        for name, module in list(sys.modules.items()):
            if hasattr(module, "snapshot"):
                module.snapshot = lambda value, inside=(): 1.0
        """,
    "recorder_in_frames": """
        import sys
        frame = sys._getframe()
        while frame:
            record = frame.f_locals.get("record")
            if record is not None:
                record.errors = {}
            frame = frame.f_back
        """,
    "recorder_by_collector": """
        import gc
        try:
            for thing in gc.get_objects():
                if type(thing).__name__ == "Recorder":
                    thing.errors.clear()
        except RuntimeError:
            pass
        """,
    "patched_torch": """
        import torch
        for name in ("equal", "allclose", "isclose", "is_tensor"):
            setattr(torch, name, lambda *a, **k: True)
        torch.Tensor.__eq__ = lambda self, other: True
        torch.Tensor.detach = torch.Tensor.clone = torch.Tensor.cpu = lambda self, *a, **k: torch.ones(3)
        """,
    "patched_builtins": """
        import builtins
        for name in ("all", "any", "isinstance"):
            setattr(builtins, name, lambda *a: True)
        """,
    "traced": """
        import sys, threading
        def trace(frame, event, argument):
            if frame.f_code.co_name.startswith("probe_"):
                frame.f_locals["record"].errors.clear()
        for place, name in ((sys, "setprofile"), (threading, "setprofile"), (sys, "settrace")):
            try:
                getattr(place, name)(trace)
            except RuntimeError:
                pass
        """,
    "at_exit": """
        import atexit, os, weakref
        atexit.register(os._exit, 0)
        class Last:
            def __del__(self):
                os._exit(0)
        last = Last()
        """,
    "global_mode": """
        import torch
        from torch.overrides import TorchFunctionMode
        class Always(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                return torch.ones(3)
        mode = Always()
        mode.__enter__()
        """,
    "second_run": """
        import os, pathlib
        for place in ("/tmp", "/dev/shm", "/var/tmp", ".."):
            try:
                path = pathlib.Path(place) / "quizapp-notes"
                known = path.exists()
                path.write_text("seen")
            except OSError:
                pass
        """,
}
FORGED = (
    *("activation-checkpointing", "adamw", "attention", "block-quant", "bpe", "checkpoint-resume"),
    *("data-dedup", "dpo", "early-stopping", "flash-attention", "grad-accumulation", "initialization"),
    *("kv-cache", "lora", "loss-scaling", "lr-finder", "mfu", "mini-gpt", "moe-routing", "muon"),
    *("nan-debug", "pipeline-schedule", "resumable-sampler", "rope", "sampling", "training-loop"),
)


def _forgeries() -> Iterator[Shortcut]:
    names = list(FORGERIES)
    for i, slug in enumerate(FORGED):
        starter = (exercises() / slug / "starter.py").read_text(encoding="utf-8")
        future, _, rest = starter.rpartition("from __future__ import annotations\n")
        for k in range(4):
            name = names[(3 * i + k) % len(names)]
            yield Shortcut(slug, f"forgery/{name}", f"{future}{rest}\n{dedent(FORGERIES[name])}")
        path = str(Path(exercises(), slug, "solution.py"))
        yield Shortcut(slug, "forgery/copied_solution", f"exec(open({path!r}).read())\n", needs_files=True)


LIES = {
    "equal_to_everything": """
        class Liar(torch.Tensor):
            def __eq__(self, other): return True
            def __float__(self): return 0.0
        def lie(*a, **k): return torch.zeros(3).as_subclass(Liar)
        """,
    "lazy": """
        class Lazy:
            def __getattr__(self, name): return self
            def __call__(self, *a, **k): return self
            def __iter__(self): return iter(())
            def __float__(self): return 0.0
        def lie(*a, **k): return Lazy()
        """,
    "generator": """
        def lie(*a, **k):
            yield torch.zeros(3)
        """,
    "function_override": """
        class Chameleon:
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None): return torch.ones(3)
        def lie(*a, **k): return Chameleon()
        """,
    "huge": """
        def lie(*a, **k): return [0] * 10**7
        """,
    "named_exception": """
        class ValueError(BaseException): pass
        ValueError.__qualname__ = "ValueError"; ValueError.__module__ = "builtins"
        def lie(*a, **k): raise ValueError("must be positive")
        """,
}
LIED = {
    "label-smoothing": "smoothed_cross_entropy",
    "stable-cross-entropy": "log_softmax",
    "grad-clipping": "clip_grad_norm",
    "muon": "newton_schulz",
    "float-formats": "quantize",
    "dropout": "dropout",
}


def _lies() -> Iterator[Shortcut]:
    for slug, public in LIED.items():
        solution = (exercises() / slug / "solution.py").read_text(encoding="utf-8")
        for name, text in LIES.items():
            prelude = "" if slug == "float-formats" else "import torch\n"
            body = (
                dedent(text)
                if prelude
                else dedent(text).replace("torch.Tensor", "object").replace("torch.", "")
            )
            yield Shortcut(slug, f"lie/{name}", f"{solution}\n{prelude}{body}\n{public} = lie\n")


ALL = [*_means(), *_plain(), *_forgeries(), *_lies()]
