"""A TaskExecutor's process beside a Spark executor; it ends with that executor.

`python -m firesteel.spark.task_manager_process PROCESS_ID`: the options and the secret come as JSON on standard input.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping
from functools import partial

from firesteel.runtime.logs import configure_logging
from firesteel.runtime.taskexecutor.log_files import LOG_PATH
from firesteel.runtime.taskexecutor.task_manager_runner import TaskManagerRunner
from firesteel.spark.slot_processes import SlotProcesses
from firesteel.spark.task_manager_launch import LOG_FILE, READY

_LEAVE_S = 5.0
"""How long a TaskExecutor takes leave; its slots end with the process in any case."""


async def _run(options: Mapping[str, str], secret: bytes, executor_process: int) -> None:
    options = {**options, LOG_PATH: LOG_FILE}  # where the one who started it has let it log
    runner = TaskManagerRunner(options, partial(SlotProcesses, host=options["taskmanager.host"]), secret)
    loop = asyncio.get_running_loop()
    executor = os.pidfd_open(executor_process)
    loop.add_reader(executor, runner.end)
    loop.add_signal_handler(signal.SIGTERM, runner.end)
    await runner.start()
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    # What user code prints from now on goes where the log goes.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    error = await runner.ended
    loop.remove_reader(executor)
    if error is not None:
        logging.error("the TaskExecutor can't go on: %s", error)
    async with asyncio.timeout(_LEAVE_S):
        await runner.stop()


def main() -> None:
    """Run until the executor ends; never returns."""
    orders = json.load(sys.stdin)
    configure_logging(orders["options"])
    code = 1
    try:
        asyncio.run(_run(orders["options"], bytes.fromhex(orders["secret"]), int(sys.argv[1])))
        code = 0
    except TimeoutError:
        logging.warning("the cluster was not told that this TaskExecutor leaves")
    except Exception:
        logging.exception("the TaskExecutor failed")
    finally:
        logging.shutdown()
        os._exit(code)


if __name__ == "__main__":
    main()
