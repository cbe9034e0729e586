"""Keeps a submission from harming files, secrets and the machine: limits, Landlock, seccomp, namespaces.

This uses ctypes, since no maintained package covers all of these. Everything beyond resource limits needs
Linux on x86_64 or aarch64.
"""
