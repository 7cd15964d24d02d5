"""Tables as columns: logical types, typed expressions, functions and kernels over Arrow record batches.

Nothing here depends on Spark, asyncio or the control plane. A kernel consumes and emits column batches.
"""
