"""Submissions that attack the machine: memory, processes, descriptors, files, the network."""

from tests.judge.attacks.kit import at_import, in_call

in_call(
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
in_call(
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
at_import(
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
at_import(
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
at_import(
    "processes",
    hands_over="""
        import os, time
        if os.fork() == 0:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                if os.fork(): os._exit(0)
    """,
)
at_import(
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
at_import(
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
at_import(
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
