"""Ids of operators and data sets (Flink: `StreamGraphHasherV2`)."""

from __future__ import annotations

import struct
from collections import deque

import mmh3

from firesteel.errors import InvalidProgramError
from firesteel.graph.chaining import Chaining
from firesteel.graph.stream_node import StreamNode, Topology

_MASK_64 = 2**64 - 1


def operator_hashes(graph: Topology, chaining: Chaining) -> dict[int, str]:
    """Return the id of each node, 32 hexadecimal digits: from its uid, or from its position in the graph.

    Raises:
        InvalidProgramError: a uid is used twice, or missing although ids must not be generated.
    """
    hashes: dict[int, bytes] = {}
    owners: dict[bytes, StreamNode] = {}
    waiting = deque(sorted(graph.source_ids))
    visited = set(waiting)
    while waiting:
        node = graph.nodes[waiting.popleft()]
        if node.uid is None and any(edge.source_id not in hashes for edge in node.in_edges):
            visited.discard(node.id)  # visited again after its last input
            continue
        _check_uid(graph, node)
        value = uid_hash(node.uid) if node.uid is not None else _place_hash(node, hashes, chaining)
        if value in owners:
            raise InvalidProgramError(_collision(node, owners[value]))
        hashes[node.id] = value
        owners[value] = node
        for edge in node.out_edges:
            if edge.target_id not in visited:
                visited.add(edge.target_id)
                waiting.append(edge.target_id)
    return {node_id: value.hex() for node_id, value in hashes.items()}


def _check_uid(graph: Topology, node: StreamNode) -> None:
    if not graph.auto_generate_uids and node.uid is None and node.user_hash is None:
        raise InvalidProgramError(
            f"Auto generated UIDs have been disabled but no UID or hash has been assigned to operator {node}; "
            "call uid() on it or set pipeline.auto-generate-uids to true"
        )


def _collision(node: StreamNode, other: StreamNode) -> str:
    return (
        f"Operators {other} and {node} both have the uid {node.uid!r}; "
        "uids must be unique: give one of them another uid()"
    )


def uid_hash(uid: str) -> bytes:
    """Return the operator id for a uid."""
    return mmh3.hash_bytes(uid.encode())


def _place_hash(node: StreamNode, hashes: dict[int, bytes], chaining: Chaining) -> bytes:
    number = struct.pack("<i", len(hashes))
    # Flink adds the number once more for each chained output (`generateDeterministicHash`).
    chainable = sum(chaining.is_chainable(edge) for edge in node.out_edges)
    value = mmh3.hash_bytes(number * (1 + chainable))
    for edge in node.in_edges:
        value = bytes((a * 37 ^ b) & 0xFF for a, b in zip(value, hashes[edge.source_id], strict=True))
    return value


def data_set_id(vertex_id: str, edge_id: str) -> str:
    """Return the id of the data set that a vertex produces for an edge."""
    high, low = int(vertex_id[:16], 16), int(vertex_id[16:], 16)
    code = 0
    units = edge_id.encode("utf-16-le")
    for unit in struct.unpack(f"<{len(units) // 2}H", units):
        code = code * 31 + unit & 0xFFFFFFFF
    signed = code - 2**32 if code >= 2**31 else code
    return f"{low + signed & _MASK_64:016x}{high + signed & _MASK_64:016x}"
