"""A leash: put on by a child process before it becomes the program that it is to run. It dies with who started it.

    python -I -S leash.py HOLDER PIPE kernel|guard PROGRAM ARGUMENTS…

However the holder ends (kill -9 too), the kernel closes its end of the pipe, and on Linux sends the child SIGKILL as well.
A child that is frozen cannot look at a pipe, and elsewhere the kernel sends nothing; so there a guard, forked from the
child before it becomes the program, reads the pipe and kills its parent, which SIGKILL does to frozen ones, too.

This file runs alone, before anything is imported: it must not import soloist. It must be started by the holder's main
thread: on Linux the death of the thread that started it counts as the holder's.
"""

import os
import select
import signal
import sys

PR_SET_PDEATHSIG = 1
LOOK = 1.0
"""Seconds between the guard's looks at whether the child is still there."""


def hold_by_kernel() -> bool:
    """Have the kernel end this process with its parent; False where it cannot."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def hold_by_guard(pipe: int) -> None:
    """Fork a guard that kills this process when nobody holds the other end of the pipe any more."""
    held = os.getpid()
    if os.fork():
        return
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)  # whoever reads the child's output must see its end
    while os.getppid() == held:
        if select.select([pipe], [], [], LOOK)[0]:
            if os.getppid() == held:
                os.kill(held, signal.SIGKILL)
            break
    os._exit(0)


def main() -> None:
    """Put it on, and become the program."""
    holder, pipe, preferred, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    if preferred == "guard" or not hold_by_kernel():
        hold_by_guard(pipe)
    if os.getppid() != holder:
        sys.exit(1)  # it ended before the leash was on
    os.close(pipe)
    os.execv(program[0], program)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()
