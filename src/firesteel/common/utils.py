"""PyFlink's Java interoperation, which is not supported (module as `pyflink.common.utils`)."""

from __future__ import annotations

from typing import NoReturn


class JavaObjectWrapper:
    """A wrapper of a Java object in PyFlink."""

    def __init__(self, j_object: object) -> None:
        raise NotImplementedError(f"{type(self).__name__} wraps a Java object; firesteel programs are plain Python")

    def get_java_object(self) -> NoReturn:
        """Raise an error: there are no Java objects.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("There are no Java objects in firesteel")
