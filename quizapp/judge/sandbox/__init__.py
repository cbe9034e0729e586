"""Keeps a submission from harming files, secrets and the machine: limits, Landlock, seccomp, namespaces.

Written with ctypes, since no maintained binding covers all of these. The layers beyond resource limits need
Linux on x86_64 or aarch64.
"""
