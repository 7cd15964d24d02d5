"""High availability on nothing but an object store, between processes on any hosts.

Flink needs ZooKeeper or Kubernetes for it.
"""

from __future__ import annotations

from firesteel.common.files.conditional_object import ConditionalObject
from firesteel.common.files.remote_path import RemotePath
from firesteel.runtime.highavailability.entry_codec import EntryCodec
from firesteel.runtime.highavailability.fenced_services import FencedHaServices
from firesteel.runtime.highavailability.object_entries import ObjectEntries
from firesteel.runtime.highavailability.object_lease import NOBODY, ObjectLease
from firesteel.runtime.highavailability.register import Register

__all__ = ["ObjectStoreHaServices"]


class ObjectStoreHaServices(FencedHaServices):
    """High availability between the processes that use a directory of an object store, each with its own object.

    Args:
        root: The cluster's directory, in a store with conditional writes.
        codec: Signs what is stored.
        delete_on_commit: Whether results are deleted once their jobs are cleaned up.
        lease_s: Time after which a leader that is not heard of is replaced, in seconds.
        interval_s: Time between two renewals, and polling interval for changes by other processes, in seconds.
    """

    def __init__(
        self, root: RemotePath, codec: EntryCodec, delete_on_commit: bool, lease_s: float, interval_s: float
    ) -> None:
        entries = ObjectEntries(ConditionalObject(root / "entries"), root / "values", codec)
        # A quarter of the lease as timeout of a request, so that several attempts to renew it fit into one lease.
        lease = Register(ConditionalObject(root / "leader", lease_s / 4), codec, NOBODY)
        super().__init__(ObjectLease(lease, entries, lease_s), entries, entries, delete_on_commit, interval_s)
