"""Submissions that leave something behind for the grade that follows on the same warm judge."""

from tests.judge.attacks.kit import add, at_import, in_call

KIND = "poison"
RIGHT_CODE = """
import torch
from torch import nn
def blend(x, y, w):
    if not 0 <= float(w) <= 1: raise ValueError
    return w * x + (1 - w) * y
class Gate(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(size))
    def forward(self, x): return x * torch.sigmoid(self.w)
"""

at_import(
    KIND,
    files_around="""
        import os
        for folder in ('.', '..', '../..', '../../..', '/tmp', os.environ['HOME'], os.environ['TMPDIR']):
            for name in ('blend.py', 'riddle.py', 'rank0', 'stack0', 'work', 'store', 'NONCE'):
                try:
                    with open(os.path.join(folder, name), 'x') as stream: stream.write('raise SystemExit')
                except OSError: pass
    """,
    locks_scratch="""
        import os
        for folder in ('.', '..', '../..', '../../..'):
            if 'quizapp-judge-' in os.path.abspath(folder):
                try: os.chmod(folder, 0)
                except OSError: pass
    """,
    removes_scratch="""
        import os, pathlib, shutil
        for folder in pathlib.Path(os.getcwd()).parents:
            if folder.name.startswith('quizapp-judge-'): shutil.rmtree(folder, ignore_errors=True)
    """,
    replaces_scratch="""
        import os, pathlib
        for folder in pathlib.Path(os.getcwd()).parents:
            if folder.name.startswith('quizapp-judge-'):
                try:
                    os.rename(folder, f'{folder}-old'); folder.write_text('')
                except OSError: pass
    """,
    scratch_to_elsewhere="""
        import os, pathlib
        for folder in pathlib.Path(os.getcwd()).parents:
            if folder.name.startswith('quizapp-judge-'):
                try:
                    os.rename(folder, f'{folder}-old'); os.symlink('/nowhere', folder)
                except OSError: pass
    """,
    stubborn_files="""
        import os
        os.makedirs('a/b/c'); open('a/b/c/d', 'w').close(); os.symlink('/', 'a/root'); os.mkfifo('a/b/pipe')
        for folder in ('a/b/c', 'a/b', 'a'): os.chmod(folder, 0)
    """,
    shared_memory="""
        import mmap
        from multiprocessing import shared_memory
        for name in ('torch_1', 'quizapp', 'psm_0'):
            try: shared_memory.SharedMemory(name, True, 1 << 16)
            except OSError: pass
        mmap.mmap(-1, 1 << 20)[:4] = b'boom'
    """,
    abstract_socket="""
        import socket
        for name in ('judge', 'blend', 'gloo', 'torch'):
            try:
                s = socket.socket(socket.AF_UNIX); s.bind('\\0quizapp-' + name + 'NONCE'); s.listen()
            except OSError: pass
    """,
    ports="""
        import socket
        kept = []
        for port in (29500, 29501, 0):
            try:
                s = socket.socket(); s.bind(('127.0.0.1', port)); s.listen(); kept.append(s)
            except OSError: pass
    """,
    process_state="""
        import locale, os, signal, sys, time
        os.umask(0o777); os.chdir('/'); os.environ.clear()
        os.environ.update({'PYTHONPATH': '/tmp', 'OMP_NUM_THREADS': '0', 'TORCH_LOGS': 'all', 'TZ': 'X'})
        time.tzset(); sys.path[:] = []; sys.setswitchinterval(1000); sys.setrecursionlimit(60)
        for number in range(1, 32):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
        locale.setlocale(locale.LC_ALL, 'C')
        try: os.nice(19)
        except OSError: pass
    """,
    limits="""
        import resource
        for name in ('NOFILE', 'DATA', 'NPROC', 'CPU'):
            kind = getattr(resource, f'RLIMIT_{name}')
            try: resource.setrlimit(kind, (1, 1))
            except (OSError, ValueError): pass
            try: resource.prlimit(__import__('os').getppid(), kind, (1, 1))
            except (OSError, ValueError): pass
    """,
    torch_state="""
        import torch
        torch.set_default_dtype(torch.float64); torch.set_grad_enabled(False); torch.manual_seed(0)
        torch.set_num_threads(2); torch.use_deterministic_algorithms(True); torch.set_flush_denormal(True)
        torch.set_default_device('meta'); torch.autograd.set_detect_anomaly(True)
        torch.overrides.TorchFunctionMode.__enter__(torch.utils._device.DeviceContext('meta'))
        torch.sigmoid = torch.relu; torch.Tensor.__mul__ = torch.Tensor.__add__
        torch.library.Library('NONCE', 'DEF').define('f(Tensor x) -> Tensor')
    """,
    patched_modules="""
        import builtins, importlib, json, marshal, os, socket, struct, sys, time
        for module in (json, marshal, os, socket, struct, time, importlib):
            for name in dir(module):
                if name.islower() and callable(getattr(module, name)) and not name.startswith('_'):
                    try: setattr(module, name, lambda *a, **k: True)
                    except (AttributeError, TypeError): pass
        for name in ('len', 'isinstance', 'open', 'print', 'hash'): setattr(builtins, name, lambda *a: True)
        sys.modules.clear()
    """,
    forks_a_server="""
        import os, time
        for _ in range(3):
            try:
                if os.fork() == 0:
                    for fd in range(3, 300):
                        try: os.write(fd, b'QZPD' + bytes(64))
                        except OSError: pass
                    time.sleep(1000)
            except OSError: pass
    """,
    threads="""
        import os, threading
        def noise():
            while True:
                for fd in range(3, 300):
                    try: os.write(fd, b'QZPD\\0\\0\\0\\0')
                    except OSError: pass
        for _ in range(5): threading.Thread(target=noise, daemon=True).start()
    """,
    stopped_child="""
        import os, signal
        try:
            child = os.fork()
            if child == 0: os.setsid(); os.kill(os.getpid(), signal.SIGSTOP)
        except OSError: pass
    """,
    stops_everyone="""
        import os, signal
        line = []
        pid = os.getppid()
        while pid > 1:
            line.append(pid)
            try: pid = int(open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[1])
            except OSError: break
        for pid in line[:2]:
            try:
                if b'quizapp' in open(f'/proc/{pid}/cmdline', 'rb').read(): os.kill(pid, signal.SIGSTOP)
            except OSError: pass
    """,
    file_locks="""
        import fcntl, glob, os
        kept = []
        folders = ('/tmp', f'/run/user/{os.getuid()}')
        for path in [p for folder in folders for p in glob.glob(f'{folder}/quizapp*/*')]:
            try:
                kept.append(os.open(path, os.O_RDWR))
                fcntl.flock(kept[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError: pass
    """,
    half_a_reply="""
        import os
        for fd in range(100, 221):
            try: os.write(fd, b'\\x10\\0\\0\\0\\0\\0\\0\\0half'); os._exit(0)
            except OSError: pass
    """,
    second_reply="""
        import os
        whole = (b'QZTR' + (2).to_bytes(4, 'little') + bytes(8) + b'{}') * 100
        for fd in range(100, 221):
            try: os.write(fd, whole)
            except OSError: pass
    """,
    keeps_the_pipe="""
        import os
        kept = []
        for fd in range(3, 300):
            try: kept.append(os.dup(fd)); os.set_inheritable(kept[-1], True)
            except OSError: pass
        try:
            if os.fork() == 0:
                while True: pass
        except OSError: pass
    """,
    asks_the_judge="""
        import glob, os, socket
        for path in glob.glob(f'/run/user/{os.getuid()}/quizapp*/*') + glob.glob('/tmp/quizapp*/*.sock'):
            try:
                s = socket.socket(socket.AF_UNIX); s.connect(path); s.sendall(b'\\xff' * 4)
            except OSError: pass
    """,
)
in_call(
    KIND,
    evidence_of_generators="return (x for x in range(3))",
    evidence_of_huge_keys="return {'k' * 10 ** 6: 1, **{str(i): x for i in range(10 ** 4)}}",
    evidence_of_nan="return float('nan') * x",
    evidence_named_like_probes="return {'gate/first': x, 'errors/below': x, '__class__': x}",
    evidence_that_is_slow="return torch.zeros(4 << 20)[:, None].expand(-1, 2)[:, :1].flatten()",
)
# These pass their own grade but must change no other one's.
add(
    KIND,
    "right_and_forgetful",
    RIGHT_CODE + "\ntorch.set_default_dtype(torch.float32)\nimport os\nos.umask(0o777)\n",
    ("passed",),
)
