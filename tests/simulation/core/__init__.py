"""The core of all simulations.

`seed`: what a seed is, what it leaves to chance and what it finds wrong. `virtual_time`: processes on an event loop
whose time passes by itself. `weather`: what happens to messages. `mutations`: how broken rules are detected.

Beside it each plane has what differs: its actors, faults, invariants and mutations. The control plane and checkpoints
run in virtual time. The code of the data plane blocks on files, so its processes take turns between their accesses to
files (`data_plane/processes.py`), and its time is the number of steps. State runs batch by batch.
"""
