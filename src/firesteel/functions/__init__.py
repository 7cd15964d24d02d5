"""What operators know of the API: user functions, state, windows, sources and sinks, descriptors of operators.

The public modules of `firesteel.datastream` re-export these classes; `operators` imports nothing else of the API.

Why: `docs/decisions/0039-rooms-and-no-circle.md`.
"""
