"""Does what a plan says."""

from typing import TYPE_CHECKING

from soloist.store.control import HANDOVER
from tests.model.state import RESTORE, SAVE
from tests.simulation.backend import pack
from tests.simulation.plan import ANYBODY, CALL_FATES, GENERATOR, Fault
from tests.simulation.process import CallFault, Process

if TYPE_CHECKING:
    from tests.simulation.history import History


class Faults:
    """The faults of one history.

    Attributes:
        over_at: when the last of them is over (virtual seconds).
    """

    def __init__(self, history: "History") -> None:
        self._history = history
        self._at_points: list[Fault] = []
        ends = [fault.at + abs(fault.seconds) for fault in history.plan.faults if fault.what != "clock jumps"]
        self.over_at = max([history.plan.lasts, *ends])

    def schedule(self) -> None:
        """All of them, each at its time."""
        history = self._history
        for fault in history.plan.faults:
            if fault.what == "goes back":
                history.scheduler.at(max(0.1, fault.at - fault.seconds), self._remember)
            history.scheduler.at(fault.at, self._begin, fault)

    def heal(self) -> None:
        """Nothing more goes wrong."""
        self._at_points.clear()
        self._history.network.call_faults.clear()

    def reached(self, point: str) -> None:
        """A process has come to a kill point."""
        for fault in self._at_points:
            if fault.point == point:
                self._at_points.remove(fault)
                scheduler = self._history.scheduler
                process = scheduler.current.owner
                assert isinstance(process, Process)
                scheduler.at(scheduler.now, self._harm, fault, process)
                scheduler.sleep(0.0)
                return

    def _begin(self, fault: Fault) -> None:
        history = self._history
        if fault.what in CALL_FATES:
            history.network.call_faults.append(CallFault(fault.script, fault.what, fault.seconds, fault.resets))
        elif fault.point:
            self._at_points.append(fault)
        elif fault.whom != ANYBODY:
            name = history.generator if fault.whom == GENERATOR else fault.whom
            process = history.processes.get(name or "")
            if process is not None and not process.has_ended:
                self._harm(fault, process)
        else:
            history.trace.happened(history.scheduler.now, str(fault))
            self._trouble_server(fault)

    def _harm(self, fault: Fault, process: Process) -> None:
        history = self._history
        history.trace.happened(history.scheduler.now, f"{process.name}: {fault}")
        match fault.what:
            case "killed":
                process.kill()
            case "loses power":
                process.lose_power()
            case "frozen":
                process.freeze(fault.seconds)
            case "suspended":
                process.suspend(fault.seconds)
            case "unplugged":
                process.unplug(fault.seconds)
            case "cut":
                process.cut()
            case "cut will":
                process.cut(will_only=True)
            case "muted":
                process.mute()
            case "stop":
                if process.name in history.instances:
                    history.instances[process.name].ask_to_stop()

    def _trouble_server(self, fault: Fault) -> None:
        history, network = self._history, self._history.network
        match fault.what:
            case "restart":
                network.restart(fault.seconds)
            case "stall":
                network.stall(fault.seconds)
            case "flush":
                network.backend.forget_scripts()
            case "clock jumps":
                network.clock_jumps(fault.seconds)
            case "loading":
                network.refuse("LOADING the dataset", (), fault.seconds)
            case "full":
                network.refuse("OOM command not allowed", ("publish", "requeue"), fault.seconds)
            case "start":
                history.start()
            case "getErrors":
                history.drain()
            case "handover":
                keys = history.keys
                frame = pack("EVAL", HANDOVER.text, 4, keys.instances, keys.line, keys.term, keys.log, 0)
                network.backend.run_script(frame, [b"EVAL", HANDOVER.text.encode(), b"4"])
            case "goes back":
                self._go_back()

    def _remember(self) -> None:
        history = self._history
        kept = history.backend.ask("EVAL", SAVE, 0, history.keys.base)
        self._kept = kept, history.ledger.remember()

    def _go_back(self) -> None:
        """A failover: the server knows an earlier state, the instances what they were told."""
        history = self._history
        kept, books = self._kept
        history.backend.ask("EVAL", RESTORE, 0, history.keys.base, *kept)
        history.ledger.go_back(books)
