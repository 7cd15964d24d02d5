"""Tables as columns: logical types, typed expressions, functions and kernels over Arrow record batches.

Nothing here knows Spark, asyncio or the control plane: a kernel takes column batches and gives column batches.
"""
