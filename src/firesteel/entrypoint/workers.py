"""The TaskExecutors of a cluster, and the RPC service that connects them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlsplit

from firesteel.common.options.rpc_options import JOBMANAGER_RPC_ADDRESS, JOBMANAGER_RPC_PORT
from firesteel.common.options.slot_options import TASK_SLOTS
from firesteel.entrypoint.local_workers import LocalWorkers
from firesteel.entrypoint.spark_options import has_executors
from firesteel.runtime.clock import SystemClock
from firesteel.runtime.highavailability.ha_services import has_high_availability
from firesteel.runtime.highavailability.high_availability import HighAvailabilityServices
from firesteel.runtime.internal_tls import TLS_PREFIX, InternalTls
from firesteel.runtime.resourcemanager.driver import ResourceManagerDriver
from firesteel.runtime.rpc import InMemoryRpcService, RpcService, TcpRpcService, cluster_secret, rpc_secret_or_new
from firesteel.spark.slot_processes import SlotProcesses
from firesteel.task.slot_limits import SlotLimits
from firesteel.task.state_seal import UNSEALED, StateSeal

__all__ = ["Workers"]

_OF_THE_JOB_MANAGER = ("spark.", "security.", "rest.", "web.")
_LOOPBACK = ("127.", "localhost", "::1")

logger = logging.getLogger(__name__)


class Workers:
    """The TaskExecutors of a cluster: in this process with a local Spark, otherwise alongside Spark's executors.

    Args:
        configuration: Configuration of the cluster.
        seal: Signs and verifies the state files of slots.

    Attributes:
        configuration: The configuration with the number of slots per TaskExecutor.
        rpc_service: In-memory if this process is the whole cluster, otherwise over TCP; not started.
    """

    def __init__(self, configuration: Mapping[str, str], seal: StateSeal = UNSEALED) -> None:
        self._seal = seal
        self._are_executors = has_executors(configuration)
        slots = 1 if self._are_executors else os.cpu_count() or 1
        self.configuration = {TASK_SLOTS.key: str(slots), **configuration}
        has_ha = has_high_availability(configuration)
        self.rpc_service: RpcService
        if has_ha or self._are_executors:
            # Without high availability only the processes that this one starts need the secret.
            self._secret = cluster_secret(configuration) if has_ha else rpc_secret_or_new(configuration)
            self.rpc_service = TcpRpcService.of_job_manager(configuration, self._secret)
            _warn_of_clear_text(configuration)
        else:
            self.rpc_service = InMemoryRpcService(SystemClock())

    def driver(self, ha: HighAvailabilityServices, context: Callable[[], object]) -> ResourceManagerDriver:
        """Return the driver that starts TaskExecutors; the RPC service must be running.

        Args:
            ha: Provides the current leaders.
            context: Returns the SparkContext.
        """
        if isinstance(self.rpc_service, TcpRpcService) and self._are_executors:
            from firesteel.spark.resource_manager_driver import SparkResourceManagerDriver  # late: local Spark has none

            return SparkResourceManagerDriver(
                context, self._options_of_executors(self.rpc_service), self._secret.accepted, self._seal
            )
        slots = TASK_SLOTS.of(self.configuration)
        slots_of = partial(SlotProcesses, seal=self._seal, limits=SlotLimits.of(self.configuration))
        return LocalWorkers(self.rpc_service, ha, slots, slots_of, self.configuration)

    def _options_of_executors(self, rpc_service: TcpRpcService) -> dict[str, str]:
        job_manager = urlsplit(rpc_service.address)
        return {
            **{k: v for k, v in self.configuration.items() if not k.startswith(_OF_THE_JOB_MANAGER)},
            **{k: v for k, v in self.configuration.items() if k.startswith(TLS_PREFIX) and ".rest." not in k},
            JOBMANAGER_RPC_ADDRESS.key: str(job_manager.hostname),
            JOBMANAGER_RPC_PORT.key: str(job_manager.port),
        }


def _warn_of_clear_text(configuration: Mapping[str, str]) -> None:
    host = JOBMANAGER_RPC_ADDRESS.of(configuration)
    if InternalTls.of(configuration) is None and not host.startswith(_LOOPBACK):
        text = (
            "calls, and records sent to slots on other hosts, cross the network of %s unencrypted: "
            "set security.ssl.internal.enabled (`firesteel certificates DIRECTORY` creates test certificates)"
        )
        logger.warning(text, host)
