"""What keeps a submission from harming files, secrets and the machine: limits, Landlock, seccomp, namespaces.

Small ctypes code, because no well-kept binding for all of these exists; Linux on x86_64 and aarch64 only.
"""
