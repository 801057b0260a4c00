"""The stage: one real server of each kind behind the simulated network, and the runtime in virtual time.

Each test runs in a child process of its own. Other tests leave threads behind (one whose handler hangs is given up, not
ended); here they would find virtual time under their hands, and take the baton from whoever has it.
"""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.servers import KINDS, Kind, PrivateServer
from tests.simulation.backend import Backend, by_virtual_time
from tests.simulation.patching import virtual_runtime
from tests.simulation.scheduler import one_core


@pytest.fixture(params=KINDS)
def backend(request: pytest.FixtureRequest, servers: Callable[[Kind], PrivateServer]) -> Iterator[Backend]:
    """A real server, and nothing of other tests in its way."""
    backend = Backend(servers(request.param).url)
    yield backend
    backend.close()


@pytest.fixture
def in_virtual_time() -> None:
    """The runtime as it is, and the scripts as they are, but for the clock: so they are in the child."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Call the test in a child, if it plays histories."""
    if "backend" not in pyfuncitem.fixturenames:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    def call() -> None:
        with ExitStack() as stack:
            stack.enter_context(one_core())
            if "in_virtual_time" in arguments:
                stack.enter_context(virtual_runtime())
                stack.enter_context(by_virtual_time())
            pyfuncitem.obj(**arguments)

    said = apart(call)
    if said:
        pytest.fail(said, pytrace=False)
    return True


def apart(call: Callable[[], None]) -> str:
    """Call it in a child process, which has none of our threads; what went wrong, or nothing."""
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of the threads that we leave here
        child = os.fork()
    if not child:
        _be_the_child(call, theirs)
    os.close(theirs)
    status = None
    try:
        with os.fdopen(ours, encoding="utf-8", errors="replace") as pipe:
            said = pipe.read()
        _, status = os.waitpid(child, 0)
    finally:
        if status is None:  # it took too long
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return said or (f"the child ended with {status}" if status else "")


def _be_the_child(call: Callable[[], None], theirs: int) -> None:
    code = 1
    try:
        call()
        code = 0
    except BaseException as error:  # noqa: BLE001 - told by our parent, also pytest's own
        told = str(error) if isinstance(error, pytest.fail.Exception) else traceback.format_exc()
        with os.fdopen(theirs, "w", encoding="utf-8", errors="replace") as pipe:
            pipe.write(told or "it failed without a word")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
