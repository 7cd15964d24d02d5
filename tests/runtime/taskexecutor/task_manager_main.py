"""A TaskExecutor as a process of its own, whose tasks move no records: `python -m ... -D key=value ...`."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping, Sequence

from firesteel.common.options.option_check import check_options
from firesteel.errors import FiresteelError
from firesteel.runtime.logs import configure_logging
from firesteel.runtime.taskexecutor.task_manager_runner import TaskManagerRunner
from tests.runtime.simulated import SimulatedTaskRunner


async def _run(configuration: Mapping[str, str]) -> int:
    check_options(configuration)
    runner = TaskManagerRunner(configuration, SimulatedTaskRunner)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, runner.end)
    await runner.start()
    error = await runner.ended
    await runner.stop()
    if error is not None:
        print(error, file=sys.stderr)
    return 0 if error is None else 1


def main(arguments: Sequence[str]) -> int:
    """Run until stopped by SIGTERM; return the exit code."""
    configuration = dict(option.split("=", 1) for option in arguments if option != "-D")
    try:
        configure_logging(configuration, "WARNING")
        return asyncio.run(_run(configuration))
    except FiresteelError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
