"""A process that leads, prints its session, and writes on command.

Run as a program with a configuration (JSON) as its argument; each line on its input names a job to put.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping

from firesteel.runtime.highavailability.ha_services import ha_services
from tests.runtime.helpers import job_graph
from tests.runtime.highavailability.kinds import SECRET


class Contender:
    def __init__(self) -> None:
        self.session_id: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def grant_leadership(self, session_id: str) -> None:
        self.session_id.set_result(session_id)

    def revoke_leadership(self) -> None:
        print("revoked", flush=True)


async def main(configuration: Mapping[str, str]) -> None:
    process, contender = ha_services(configuration, SECRET), Contender()
    await process.leader_election("x").start(contender)
    session_id = await contender.session_id
    store = process.stores(session_id).job_graphs
    store.start()
    print(session_id, flush=True)
    loop = asyncio.get_running_loop()
    while name := await loop.run_in_executor(None, sys.stdin.readline):
        try:
            await store.put(job_graph(("a", 1, []), name=name.strip()))
            print("stored", flush=True)
        except Exception as error:
            print(type(error).__name__, flush=True)
    await process.close()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
