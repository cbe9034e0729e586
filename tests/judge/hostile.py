"""Submissions that attack the judge or the machine, by kind. Each is wrong code: none may pass.

``CANARY``, ``PORT`` and ``SOCKET`` stand for a file, a TCP port and a Unix socket of the test. ``BLEND`` is
put where a module needs the wrong implementation that an attack tries to sell.
"""

from dataclasses import dataclass
from textwrap import dedent, indent

WRONG = """
import torch
from torch import nn

def blend(x, y, w):
    return x * 0

class Gate(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(size))
    def forward(self, x):
        return x
"""


@dataclass(frozen=True)
class Hostile:
    """One hostile submission; ``statuses`` are the verdicts that are right for it, ``seconds`` its limit."""

    kind: str
    name: str
    source: str
    statuses: tuple[str, ...]
    seconds: float | None = None


ALL: list[Hostile] = []
_ANY = ("failed", "error", "timeout", "memory")
HANG = 0.7


def _add(
    kind: str, name: str, source: str, statuses: tuple[str, ...] = _ANY, seconds: float | None = None
) -> None:
    ALL.append(Hostile(kind, name, dedent(source), statuses, seconds))


def _at_import(
    kind: str, statuses: tuple[str, ...] = _ANY, seconds: float | None = None, **snippets: str
) -> None:
    """Attacks that run when the module is imported, with the wrong implementation after them."""
    for name, snippet in snippets.items():
        _add(kind, name, dedent(snippet) + WRONG, statuses, seconds)


def _in_call(
    kind: str, statuses: tuple[str, ...] = _ANY, seconds: float | None = None, **snippets: str
) -> None:
    """Attacks that run when ``blend`` is called."""
    for name, snippet in snippets.items():
        body = indent(dedent(snippet).strip("\n"), "    ")
        _add(kind, name, f"{WRONG}\ndef blend(x, y, w):\n{body}\n    return x * 0\n", statuses, seconds)


_at_import(
    "endless",
    ("timeout",),
    HANG,
    loop_on_import="while True: pass",
    sleep_on_import="import time; time.sleep(1000)",
    regex_in_c="import re; re.match('(a+)+$', 'a' * 60 + 'b')",
    count_in_c="import collections, itertools; collections.deque(itertools.count(), maxlen=0)",
    power_in_c="x = 7 ** (10 ** 9)",
    lock="import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()",
    event="import threading; threading.Event().wait()",
    select="import select, os; r, w = os.pipe(); select.select([r], [], [])",
    queue_get="import queue; queue.Queue().get()",
    pipe_read="import os; r, w = os.pipe(); os.read(r, 1)",
    asyncio_forever="import asyncio; asyncio.run(asyncio.sleep(1000))",
    exhausted_iterator="sum(iter(int, 1))",
)
_in_call(
    "endless",
    ("timeout",),
    HANG,
    loop_in_call="while True: pass",
    sleep_in_call="import time; time.sleep(1000)",
    loop_with_except="""
        while True:
            try:
                while True: pass
            except BaseException:
                pass
    """,
    join_self="""
        import threading
        t = threading.Thread(target=lambda: threading.Event().wait()); t.start(); t.join()
    """,
    matmul_forever="""
        a = torch.ones(64, 64)
        while True: a = (a @ a).clamp(0, 1)
    """,
)
_add(
    "endless",
    "loop_in_backward",
    WRONG
    + """
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x
    @staticmethod
    def backward(ctx, g):
        while True: pass
def blend(x, y, w): return F.apply(x)
""",
    ("timeout",),
    HANG,
)
_add(
    "endless",
    "loop_in_constructor",
    WRONG + "\nclass Gate:\n    def __init__(self, size):\n        while True: pass\n",
    ("timeout",),
    HANG,
)
_add(
    "endless",
    "loop_in_repr",
    WRONG + "\nclass R:\n    def __repr__(self):\n        while True: pass\ndef blend(x, y, w): return R()\n",
    ("timeout",),
    HANG,
)
_at_import(
    "signals",
    ("timeout",),
    HANG,
    ignores_all="""
        import signal
        for n in range(1, 65):
            try: signal.signal(n, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True: pass
    """,
    blocks_all="""
        import signal
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        while True: pass
    """,
    stops_itself="import os, signal, time; os.kill(os.getpid(), signal.SIGSTOP); time.sleep(1000)",
    faulthandler_off="""
        import faulthandler
        faulthandler.disable(); faulthandler.unregister(10)
        while True: pass
    """,
)
_at_import(
    "signals",
    alarm="import signal, time; signal.alarm(1); time.sleep(0.01)",
    kills_itself="import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    stops_parent="""
        import os, signal
        if os.getppid() > 1: os.kill(os.getppid(), signal.SIGSTOP)
    """,
    kills_group="import os\ntry: os.killpg(0, 0)\nexcept OSError: pass",
)
_at_import(
    "crash",
    ("error", "failed"),
    segfault="import ctypes; ctypes.string_at(0)",
    abort="import os; os.abort()",
    exits="import os; os._exit(0)",
    exits_one="import os; os._exit(1)",
    sys_exit="import sys; sys.exit(0)",
    raises_system_exit="raise SystemExit",
    keyboard_interrupt="raise KeyboardInterrupt",
    base_exception="raise BaseException('x')",
    generator_exit="raise GeneratorExit",
    syntax="def blend(:",
    indentation="  x = 1\n y = 2",
    only_a_string="'''never closed",
    deep_parentheses="x = " + "(" * 3000 + ")" * 3000,
    deep_minus="x = " + "-" * 50000 + "1",
    imports_nothing_there="import does_not_exist_anywhere",
    imports_itself="import blend; blend.blend(1, 2, 3)",
    null_call="import ctypes; ctypes.CFUNCTYPE(None)(0)()",
)
_in_call(
    "crash",
    exit_in_call="import os; os._exit(0)",
    sys_exit_in_call="raise SystemExit(0)",
    recursion="return blend(x, y, w)",
    recursion_unlimited="import sys; sys.setrecursionlimit(10 ** 9); return blend(x, y, w)",
    deep_graph="""
        for _ in range(100000): x = x + 0
        return x
    """,
    raises_odd_exception="""
        class E(Exception):
            def __str__(self): raise E
        raise E
    """,
    raises_huge_message="raise ValueError('x' * 10 ** 7)",
    stop_iteration="raise StopIteration",
)
_in_call(
    "memory",
    ("memory",),
    60.0,  # filling memory is slow on a busy machine, and no time-out is wanted here
    bytes_bomb="return bytearray(10 ** 11)",
    list_bomb="return [0] * 10 ** 10",
    torch_bomb="return torch.ones(10 ** 10)",
    growing="""
        kept = []
        while True: kept.append(bytearray(50 << 20))
    """,
    torch_growing="""
        kept = []
        while True: kept.append(torch.ones(16 << 20))
    """,
    numpy_bomb="import numpy; return numpy.ones(10 ** 10)",
    string_bomb="return 'x' * 10 ** 10",
)
_in_call(
    "memory",
    seconds=20.0,
    shared_mapping="""
        import mmap
        m = mmap.mmap(-1, 6 << 30)
        block = b'x' * (64 << 20)
        while True:
            m.seek(0)
            for _ in range(96): m.write(block)
    """,
    shared_tensor="return torch.ones(10 ** 9).share_memory_()",
    dev_shm="""
        with open('/dev/shm/quizapp-hostile', 'wb') as f:
            f.write(b'x' * 1000)
    """,
    meta_result="return torch.empty(10 ** 12, device='meta')",
    huge_result="return torch.zeros(20 << 20)",
    expanded_result="return torch.zeros(1).expand(10 ** 11)",
    many_results="return [torch.zeros(1)] * 10 ** 6",
    nested_result="""
        deep = []
        for _ in range(10 ** 5): deep = [deep]
        return deep
    """,
    cyclic_result="""
        a = []
        a.append(a)
        return a
    """,
    big_integer="return 1 << 10 ** 7",
)
_at_import(
    "processes",
    fork="import os; os.fork()",
    fork_bomb="""
        import os
        for _ in range(5):
            try: os.fork()
            except OSError: break
    """,
    daemon="""
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(1000)
            os._exit(0)
    """,
    child_sleeps="import subprocess; subprocess.Popen(['sleep', '1000'])",
    shell="import os; os.system('sleep 1000 &')",
    multiprocess="""
        import multiprocessing, time
        multiprocessing.get_context('fork').Process(target=time.sleep, args=(1000,)).start()
    """,
    spawn="import os; os.posix_spawn('/bin/sleep', ['sleep', '1000'], {})",
    exec_other="import os; os.execv('/bin/true', ['true'])",
    exec_sleep="import os; os.execv('/bin/sleep', ['sleep', '0.2'])",
    vfork_call="import ctypes; ctypes.CDLL(None).syscall(58)",
    raw_clone="""
        import ctypes, os
        if ctypes.CDLL(None).syscall(56, 17, 0, 0, 0, 0) == 0: os.execv('/bin/sleep', ['sleep', '1000'])
    """,
    clone3_call="import ctypes; ctypes.CDLL(None).syscall(435, 0, 0)",
    unshare_call="import ctypes; ctypes.CDLL(None).unshare(0x10000000)",
    ptrace_parent="import ctypes, os; ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0)",
    thread_never_ends="import threading; threading.Thread(target=threading.Event().wait).start()",
    thread_prints="""
        import threading
        def chatter():
            while True: print('still here')
        threading.Thread(target=chatter, daemon=True).start()
    """,
    many_threads="""
        import threading
        for _ in range(2000):
            try: threading.Thread(target=threading.Event().wait, daemon=True).start()
            except RuntimeError: break
    """,
    atexit_loop="import atexit, time; atexit.register(time.sleep, 1000)",
    del_loop="""
        class D:
            def __del__(self):
                while True: pass
        d = D()
    """,
    resets_death_signal="import ctypes; ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)",
    raises_limits="import resource; resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))",
)
_at_import(
    "descriptors",
    closes_all="import os; os.closerange(0, 4096)",
    closes_streams="import sys; sys.stdout.close(); sys.stderr.close()",
    opens_many="""
        import os
        kept = []
        try:
            while True: kept.append(os.open('/dev/null', os.O_RDONLY))
        except OSError: pass
    """,
    floods_pipes="""
        import os
        for fd in range(3, 300):
            try: os.write(fd, b'x' * 100000)
            except OSError: pass
    """,
    floods_forever="""
        import os
        while True:
            for fd in range(3, 300):
                try: os.write(fd, b'x' * 100000)
                except OSError: pass
    """,
    redirects="""
        import os
        for fd in range(3, 300):
            try: os.dup2(1, fd)
            except OSError: pass
    """,
)
_at_import(
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
_at_import(
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
        record = sys.modules.get('quizapp.judge.record')
        if record:
            record.Record.raises = lambda *a: None
            record.Record.__call__ = lambda *a: None
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
        import quizapp.judge.hidden as h
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
_at_import(
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
_in_call(
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
    wrong_dtype="return (x * 0).to(torch.complex64)",
    sparse="return (x * 0).to_sparse()",
    alias_changed_later="""
        out = torch.zeros_like(x)
        return out
    """,
    mutates_inputs="x.mul_(0); y.mul_(0) if not y.requires_grad else None",
)
_add(
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
_add(
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
_at_import(
    "files",
    reads_canary="print(open('CANARY').read())",
    reads_canary_in_error="raise ValueError(open('CANARY').read())",
    writes_canary="open('CANARY', 'w').write('gone')",
    appends_canary="open('CANARY', 'a').write('gone')",
    truncates_canary="import os; os.truncate('CANARY', 0)",
    removes_canary="import os; os.remove('CANARY')",
    renames_canary="import os; os.rename('CANARY', 'CANARY.old')",
    chmods_canary="import os; os.chmod('CANARY', 0)",
    touches_canary="import os; os.utime('CANARY', (0, 0))",
    links_canary="import os; os.link('CANARY', 'stolen'); print(open('stolen').read())",
    symlinks_canary="import os; os.symlink('CANARY', 'stolen'); print(open('stolen').read())",
    maps_canary="import mmap; print(mmap.mmap(open('CANARY').fileno(), 0, access=mmap.ACCESS_READ)[:])",
    reads_passwd="print(open('/etc/passwd').read())",
    reads_environ="print(open('/proc/self/environ').read())",
    reads_parent="import os; print(open(f'/proc/{os.getppid()}/environ').read())",
    writes_tmp="import tempfile; open('/tmp/quizapp-hostile-file', 'w').write('x')",
    changes_exercise="import pathlib; [p.write_text('') for p in pathlib.Path('EXERCISE').rglob('*.py')]",
    removes_exercise="import shutil; shutil.rmtree('EXERCISE')",
    fills_scratch="""
        import os
        for i in range(20):
            with open(f'f{i}', 'wb') as f: f.write(b'x' * (60 << 20))
    """,
    many_files="""
        for i in range(20000): open(f'f{i}', 'w').close()
    """,
    deep_folders="""
        import os
        for _ in range(400):
            os.mkdir('d'); os.chdir('d')
    """,
    fifo_and_locked="import os; os.mkfifo('pipe'); os.mkdir('locked', 0o000)",
)
_at_import(
    "network",
    tcp="import socket; socket.create_connection(('127.0.0.1', PORT), 0.3)",
    unix="import socket; s = socket.socket(socket.AF_UNIX); s.connect('SOCKET')",
    udp="import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))",
    http="import urllib.request; urllib.request.urlopen('http://127.0.0.1:PORT', timeout=0.3)",
    listens="import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()",
    pair_datagram="""
        import socket
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', 'SOCKET')
    """,
    store="""
        import datetime, torch.distributed as d
        d.TCPStore('127.0.0.1', PORT, 1, False, datetime.timedelta(seconds=0.3))
    """,
)
_at_import(
    "signals",
    ("timeout",),
    HANG,
    writes_its_own_stack="""
        import os, stat
        text = b'Current thread 0x1 (most recent call first):\\n  File "/x/blend.py", line '
        for fd in range(3, 256):
            try:
                if stat.S_ISREG(os.fstat(fd).st_mode): os.write(fd, text + b'9' * 6000 + b' in f\\n')
            except OSError: pass
        while True: pass
    """,
)
# Below T3, where a worker is the first process of its namespace, these end it.
_at_import(
    "signals",
    ("error", "failed"),
    real_time="import os; os.kill(os.getpid(), 40)",
    real_time_last="import os; os.kill(os.getpid(), 62)",
)
_at_import(
    "exceptions",
    ("error",),
    bare_syntax_error="raise SyntaxError",
    odd_line="error = SyntaxError('odd'); error.lineno = 'x'; raise error",
    odd_message="raise SyntaxError(None)",
    liar="""
        class Meta(type):
            __name__ = property(lambda self: 1 / 0)
        class Liar(Exception, metaclass=Meta):
            __class__ = property(lambda self: 1 / 0)
            __traceback__ = property(lambda self: 1 / 0)
        raise Liar('boo')
    """,
    odd_text="""
        class Text(str):
            def replace(self, *a): raise SystemExit
        class Odd(Exception):
            def __str__(self): return Text('boo')
        raise Odd
    """,
    long_name="raise type('X' * 900_000, (Exception,), {})('boo')",
)
_in_call(
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
_at_import(
    "memory",
    ("error",),
    20.0,
    small_stacks="""
        import threading, time
        threading.stack_size(32768)
        event = threading.Event()
        try:
            while True: threading.Thread(target=event.wait, daemon=True).start()
        except RuntimeError: time.sleep(1000)
    """,
    deep_files="""
        import os
        for _ in range(20): os.mkdir('d' * 250); os.chdir('d' * 250)
        while True:
            for i in range(9):
                with open(f'f{i}', 'wb') as f: f.write(b'x' * (40 << 20))
    """,
)
_at_import(
    "processes",
    hands_over="""
        import os, time
        if os.fork() == 0:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                if os.fork(): os._exit(0)
    """,
)
