"""Submissions that attack the verdict: floods of output, forged transcripts, patched libraries, lies."""

from tests.judge.attacks.kit import add, at_import, in_call

at_import(
    "output",
    two_hundred_megabytes="""
        import sys
        line = 'x' * 999
        for _ in range(200_000): print(line)
    """,
    escapes="print('\\x1b[2J\\x1b]0;owned\\x07\\x1b[31mred \\u202e reversed \\x9b2J')",
    escapes_in_error="raise ValueError('\\x1b[2J\\x1b]52;c;eA==\\x07 owned \\x9b')",
    binary="import os; os.write(1, bytes(range(256)) * 100)",
    markup="print('[bold red]x[/] [/nonsense] {0} %s')",
    says_passed="""print('{"schema": "quizapp.verdict/1", "status": "passed", "passed": true}')""",
    surrogates="print('\\ud800 lone')",
)
_FORGE = """
import os, json, struct, gc, sys
header = json.dumps({"d": [["values", {"d": []}], ["errors", {"d": []}], ["import", None]]}).encode()
message = struct.pack("<4sIQ", b"QZT1", len(header), 0) + header
for fd in range(3, 300):
    try: os.write(fd, message)
    except OSError: pass
os._exit(0)
"""
at_import(
    "forgery",
    transcript=_FORGE,
    forges_with_nonce="""
        import gc, os, struct, json
        for thing in gc.get_objects():
            nonce = getattr(thing, 'nonce', None)
            if isinstance(nonce, str):
                header = json.dumps({"d": [["values", {"d": []}], ["errors", {"d": []}],
                                           ["import", None], ["nonce", nonce]]}).encode()
                message = struct.pack("<4sIQ", b"QZT1", len(header), 0) + header
                for fd in range(3, 300):
                    try: os.write(fd, message)
                    except OSError: pass
                os._exit(0)
    """,
    patches_record="""
        import sys
        record = sys.modules.get('quizapp.judge.testing.probes')
        if record:
            record.Recorder.raises = lambda *a: None
            record.Recorder.__call__ = lambda *a: None
    """,
    patches_encode="""
        import sys
        for name, module in list(sys.modules.items()):
            if name.startswith('quizapp'):
                for key, value in list(vars(module).items()):
                    if key in ('encode', 'run_probes', 'snapshot'):
                        setattr(module, key, lambda *a, **k: b'')
    """,
    walks_the_stack="""
        import sys
        frame = sys._getframe()
        while frame:
            for value in list(frame.f_locals.values()):
                if hasattr(value, 'values') and hasattr(value, 'errors'):
                    value.values = {}; value.errors = {}
            frame = frame.f_back
    """,
    swaps_probe_code="""
        import sys
        probes = sys.modules.get('_probes')
        for key, value in list(vars(probes).items()):
            if key.startswith('probe_'): value.__code__ = (lambda *a: None).__code__
    """,
    imports_hidden_tests="""
        import quizapp.judge.testing.checks as h
        h.close = h.expect = lambda *a, **k: None
    """,
    reads_solution="""
        import pathlib
        for p in pathlib.Path('EXERCISE').rglob('*.py'):
            if p.name == 'solution.py': exec(p.read_text()); raise RuntimeError('read ' + p.name)
    """,
    module_swap="import sys, types; sys.modules['blend'] = types.ModuleType('blend')",
    says_it_is_right="blend_passed = True; __test__ = True; passed = True; status = 'passed'",
)
at_import(
    "patching",
    allclose="import torch; torch.allclose = lambda *a, **k: True; torch.isclose = lambda a, *b, **k: a == a",
    assert_close="import torch.testing; torch.testing.assert_close = lambda *a, **k: None",
    equal="import torch; torch.equal = lambda *a: True; torch.Tensor.__eq__ = lambda *a: True",
    builtins_all="import builtins; builtins.all = lambda *a: True; builtins.abs = lambda x: 0",
    builtins_len="import builtins; builtins.len = lambda x: 1",
    builtins_isinstance="import builtins; builtins.isinstance = lambda *a: True",
    no_import="import builtins; builtins.__import__ = None",
    time_stands="import time; time.time = time.monotonic = time.perf_counter = lambda: 0.0",
    json_dumps="import json; json.dumps = lambda *a, **k: '{}'",
    os_write="import os; os.write = lambda *a: 0; os._exit = lambda *a: None",
    tensor_methods="""
        import torch
        for name in ('detach', 'clone', 'to', 'contiguous', 'data_ptr', 'backward'):
            setattr(torch.Tensor, name, lambda self, *a, **k: self)
    """,
    dispatch_mode="""
        from torch.utils._python_dispatch import TorchDispatchMode
        class Lie(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))
        Lie().__enter__()
    """,
    function_mode="""
        from torch.overrides import TorchFunctionMode
        class Lie(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return args[0] if args else None
        Lie().__enter__()
    """,
    default_dtype="import torch; torch.set_default_dtype(torch.float16)",
    settrace="import sys; sys.settrace(lambda *a: None); sys.setprofile(lambda *a: None)",
    excepthook="import sys; sys.excepthook = lambda *a: None",
    pytest_patch="import sys, types; sys.modules['pytest'] = types.ModuleType('pytest')",
)
in_call(
    "lies",
    subclass="""
        class Lie(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None): return True
        return (x * 0).as_subclass(Lie)
    """,
    equal_to_all="""
        class Yes:
            def __eq__(self, other): return True
            def __sub__(self, other): return 0
            def __float__(self): return 0.0
            def __getattr__(self, name): return self
            def __call__(self, *a, **k): return self
        return Yes()
    """,
    number_subclass="""
        class F(float):
            def __eq__(self, other): return True
        return F(0)
    """,
    nan="return x * float('nan')",
    infinite="return x * 0 + float('inf')",
    empty="return torch.empty(0)",
    a_million_empty_rows="return torch.empty(25_000_000, 0)",
    empty_in_many_dimensions="return torch.empty(*[4000] * 4, 0)",
    wrong_dtype="return (x * 0).to(torch.complex64)",
    sparse="return (x * 0).to_sparse()",
    alias_changed_later="""
        out = torch.zeros_like(x)
        return out
    """,
    mutates_inputs="x.mul_(0); y.mul_(0) if not y.requires_grad else None",
)
add(
    "lies",
    "right_only_once",
    """
    import torch
    from torch import nn
    import pathlib
    flag = pathlib.Path('/tmp/quizapp-once-NONCE')
    first = not flag.exists()
    try: flag.touch()
    except OSError: pass
    calls = []
    def blend(x, y, w):
        if not 0 <= float(w) <= 1: raise ValueError
        calls.append(1)
        return w * x + (1 - w) * y if len(calls) == 1 else x * 0
    class Gate(nn.Module):
        def __init__(self, size):
            super().__init__(); self.w = nn.Parameter(torch.zeros(size))
        def forward(self, x): return x * torch.sigmoid(self.w)
    """,
)
add(
    "lies",
    "an_exception_with_a_known_name",
    """
    import torch
    from torch import nn
    class ValueError(BaseException): pass
    def blend(x, y, w):
        if not 0 <= float(w) <= 1: raise ValueError
        return w * x + (1 - w) * y
    class Gate(nn.Module):
        def __init__(self, size):
            super().__init__(); self.w = nn.Parameter(torch.zeros(size))
        def forward(self, x): return x * torch.sigmoid(self.w)
    """,
    ("failed",),
)
add(
    "lies",
    "right_for_cases_in_order",
    """
    import torch
    from torch import nn
    gates = []
    def blend(x, y, w):
        if not 0 <= float(w) <= 1: raise ValueError
        return w * x + (1 - w) * y if not gates or w.__class__ is float and w < 0 else x * 0
    class Gate(nn.Module):
        def __init__(self, size):
            super().__init__(); self.w = nn.Parameter(torch.zeros(size)); gates.append(1)
        def forward(self, x): return x * torch.sigmoid(self.w)
    """,
)
in_call(
    "lies",
    ("failed",),
    nested_tensor="return torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=torch.jagged)",
    lying_shape="""
        class Lie(torch.Tensor):
            shape = property(lambda self: (10 ** 7,))
            detach = clone = lambda self, *a: self
        return (x * 0).as_subclass(Lie)
    """,
    lying_class="""
        class Lie:
            __class__ = property(lambda self: torch.Tensor)
            dtype, shape = [], (2,)
            detach = clone = lambda self: self
            device, layout = torch.device('cpu'), torch.strided
        return Lie()
    """,
    no_storage="return torch._efficientzerotensor(3)",
    raising_dispatch="""
        class Bad(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                if 'detach' in str(func): return Bad(args[0])
                return args[0] if 'clone' in str(func) else 1 / 0
        return Bad(x)
    """,
)
