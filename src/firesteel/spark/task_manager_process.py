"""The process of a TaskExecutor next to a Spark executor; each of the two ends with the other.

`python -m firesteel.spark.task_manager_process PROCESS_ID`: the options and the secret come as JSON on standard input.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NoReturn

from firesteel.common.options.rpc_options import TASKMANAGER_HOST, TASKMANAGER_LOG_PATH
from firesteel.runtime.capped_file import CappedFile
from firesteel.runtime.internal_tls import InternalTls
from firesteel.runtime.logs import configure_logging
from firesteel.runtime.rpc import ClusterSecret
from firesteel.runtime.taskexecutor.task_manager_runner import TaskManagerRunner
from firesteel.spark.slot_processes import SlotProcesses
from firesteel.spark.worker_output import LOG_FILE
from firesteel.task.slot_limits import SlotLimits
from firesteel.task.state_seal import StateSeal

READY = b"READY\n"

_LEAVE_S = 5.0
"""Time for a TaskExecutor to deregister; its slots end with the process in any case."""


async def _run(options: Mapping[str, str], secret: ClusterSecret, seal: StateSeal, executor_process: int) -> int:
    options = {**options, TASKMANAGER_LOG_PATH.key: LOG_FILE}  # the log file that the launcher set up
    host, tls = TASKMANAGER_HOST.of(options), InternalTls.of(options)
    slots = partial(SlotProcesses, host=host, tls=tls, seal=seal, limits=SlotLimits.of(options))
    runner = TaskManagerRunner(options, slots, secret)
    loop = asyncio.get_running_loop()
    executor = os.pidfd_open(executor_process)
    loop.add_reader(executor, runner.end)
    loop.add_signal_handler(signal.SIGTERM, runner.end)
    await runner.start()
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    # From now on, output of user code goes to the log.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    error = await runner.ended
    loop.remove_reader(executor)
    if error is not None:
        logging.error("fatal error in the TaskExecutor: %s", error)
    async with asyncio.timeout(_LEAVE_S):
        await runner.stop()
    return 0 if error is None else 1


def _end_executor_after(task_executor: int, executor_process: int) -> NoReturn:
    """End the executor after the TaskExecutor was killed; Spark then reports its loss, and it is replaced."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdin, sys.stdout):
        os.dup2(null, stream.fileno())
    _, status = os.waitpid(task_executor, 0)
    if status != 0:
        with contextlib.suppress(ProcessLookupError):
            os.kill(executor_process, signal.SIGTERM)
    os._exit(0)


def main() -> NoReturn:
    """Run the TaskExecutor until the executor ends."""
    executor_process = int(sys.argv[1])
    # A parent that does nothing else sees the TaskExecutor's end even if that is killed, and then ends the executor.
    task_executor = os.fork()
    if task_executor:
        _end_executor_after(task_executor, executor_process)
    orders = json.load(sys.stdin)
    configure_logging(orders["options"])
    CappedFile(Path(LOG_FILE).absolute())
    code = 1
    try:
        given = orders["seal"]
        accepted = tuple(bytes.fromhex(key) for key in given["accepted"])
        seal = StateSeal(bytes.fromhex(given["key"]), given["allows_unverified"], accepted)
        secrets = tuple(bytes.fromhex(one) for one in orders["secrets"])
        code = asyncio.run(_run(orders["options"], ClusterSecret(lambda: secrets), seal, executor_process))
    except TimeoutError:
        logging.warning("this TaskExecutor could not be deregistered")
    except Exception:
        logging.exception("the TaskExecutor failed")
    finally:
        logging.shutdown()
        # At once: threads that still run user code would keep the process, and thus the executor, alive.
        os._exit(code)


if __name__ == "__main__":
    main()
