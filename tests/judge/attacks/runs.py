"""Submissions that never end, or end in a way of their own: loops, signals, crashes, odd exceptions."""

from tests.judge.attacks.kit import HANG, WRONG, add, at_import, in_call

at_import(
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
in_call(
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
add(
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
add(
    "endless",
    "loop_in_constructor",
    WRONG + "\nclass Gate:\n    def __init__(self, size):\n        while True: pass\n",
    ("timeout",),
    HANG,
)
add(
    "endless",
    "loop_in_repr",
    WRONG + "\nclass R:\n    def __repr__(self):\n        while True: pass\ndef blend(x, y, w): return R()\n",
    ("timeout",),
    HANG,
)
at_import(
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
at_import(
    "signals",
    alarm="import signal, time; signal.alarm(1); time.sleep(0.01)",
    kills_itself="import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    stops_parent="""
        import os, signal
        if os.getppid() > 1: os.kill(os.getppid(), signal.SIGSTOP)
    """,
    kills_group="import os\ntry: os.killpg(0, 0)\nexcept OSError: pass",
)
at_import(
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
at_import(
    "signals",
    ("error", "failed"),
    real_time="import os; os.kill(os.getpid(), 40)",
    real_time_last="import os; os.kill(os.getpid(), 62)",
)
at_import(
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
in_call(
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
at_import(
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
