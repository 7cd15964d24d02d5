"""The base classes of streams: settings of an operator, and how the next operator is added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from firesteel.common.checks import require, require_one_result, with_article, with_class
from firesteel.common.execution_config import ExecutionConfig
from firesteel.common.java_objects import WithoutJava
from firesteel.common.keys.max_parallelism import check_max_parallelism
from firesteel.common.type_classes.type_information import checked_type
from firesteel.common.typeinfo import PickledBytesTypeInfo, RowTypeInfo, TypeInformation
from firesteel.datastream.slot_sharing_group import SlotSharingGroup
from firesteel.datastream.streams.user_location import user_location
from firesteel.errors import InvalidProgramError
from firesteel.functions.added_functions import as_added
from firesteel.functions.operator_builder import next_id, transformation_of, transformations_of
from firesteel.graph.partitioner import Partitioner
from firesteel.graph.transformations import (
    OperatorTransformation,
    PartitionTransformation,
    PythonOperatorKind,
    SinkTransformation,
    Transformation,
    UnionTransformation,
)

if TYPE_CHECKING:
    from firesteel.datastream.data_stream import DataStream
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

T = TypeVar("T")


_ONE_RESULT = ("map()", "filter()", "key_by()", "reduce()")


def check_function(function: object, kind: type, method: str, call: str) -> None:
    """Check that `function` is a function object of the given kind or a callable.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(function, kind) and not hasattr(function, method) and not callable(function):
        raise TypeError(f"{call} takes {with_article(kind)} or a callable; found {with_class(function)}")
    if isinstance(function, type) and (issubclass(function, kind) or hasattr(function, method)):
        name = function.__name__
        raise TypeError(f"{call} takes {with_article(kind)} or a callable; found the class {name}: write {name}()")
    if call in _ONE_RESULT:
        require_one_result(getattr(function, method, function), call, "flat_map()")


def type_or_pickled(type_info: TypeInformation[Any] | list[TypeInformation[object]] | None) -> TypeInformation[Any]:
    """Return the declared type, or the type of pickled objects if none is declared; a list is that of a row's fields.

    Raises:
        TypeError: `type_info` is not a `TypeInformation`.
    """
    if type_info is None:
        return PickledBytesTypeInfo()
    return RowTypeInfo(type_info) if isinstance(type_info, list) else checked_type(type_info)


class OperatorSettings(WithoutJava):
    """Settings of an operator, source or sink."""

    _environment: StreamExecutionEnvironment
    _transformation: Transformation

    def _setting(self, call: str, *values: object, kinds: type | tuple[type, ...] = str) -> Transformation:
        """Return the transformation whose settings `call` changes, after a check of the values' types.

        Raises:
            InvalidProgramError: it is no operator, so that nothing would come of its settings.
            TypeError: a value is of another type.
        """
        for value in values:
            require(value, kinds, call)
        if isinstance(self._transformation, (PartitionTransformation, UnionTransformation)):
            kind = "union" if isinstance(self._transformation, UnionTransformation) else "partitioned stream"
            raise InvalidProgramError(
                f"{call} sets an operator, and a {kind} is none: call it on the one before or after"
            )
        return self._transformation

    def name(self, name: str) -> Self:
        """Set the name of the operator.

        Args:
            name: Shown in plans, logs and metrics; need not be unique.
        """
        self._setting("name()", name).name = name
        return self

    def uid(self, uid: str) -> Self:
        """Set a stable id of the operator, by which its state is found after the program changed.

        Args:
            uid: Unique within the program: `execute` rejects duplicates. By default, ids depend on the structure of the
                program.
        """
        self._setting("uid()", uid).uid = uid
        return self

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Set the operator id itself, for state that was written under that id.

        Args:
            uid_hash: 32 hexadecimal digits.

        Raises:
            ValueError: `uid_hash` is not 32 hexadecimal digits.
        """
        transformation = self._setting("set_uid_hash()", uid_hash)
        if len(uid_hash) != 32 or any(digit not in "0123456789abcdefABCDEF" for digit in uid_hash):
            raise ValueError(f"uid_hash must be 32 hexadecimal digits, found {uid_hash!r}")
        transformation.user_hash = uid_hash
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the number of subtasks of the operator.

        Args:
            parallelism: At least 1, or -1 for the default of the environment.

        Raises:
            ValueError: the number is out of range, or it is not 1 and the operator must not run in parallel.
        """
        transformation = self._setting("set_parallelism()", parallelism, kinds=int)
        if parallelism < 1 and parallelism != ExecutionConfig.PARALLELISM_DEFAULT:
            raise ValueError(f"Parallelism must be at least 1, found {parallelism}")
        self._check_non_parallel("parallelism", parallelism)
        is_default = parallelism == ExecutionConfig.PARALLELISM_DEFAULT
        transformation.parallelism = self._environment.get_parallelism() if is_default else parallelism
        transformation.parallelism_configured = not is_default
        return self

    def _check_non_parallel(self, what: str, number: int) -> None:
        if self._transformation.max_parallelism == 1 and number != 1:
            raise ValueError(
                f"The {what} of non parallel operator {self._transformation.name!r} must be 1, found {number}"
            )

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups, which is the upper bound for rescaling.

        Args:
            max_parallelism: 1 to 32768.

        Raises:
            ValueError: the number is out of range, or it is not 1 and the operator must not run in parallel.
        """
        transformation = self._setting("set_max_parallelism()", max_parallelism, kinds=int)
        check_max_parallelism(max_parallelism)
        self._check_non_parallel("max parallelism", max_parallelism)
        transformation.max_parallelism = max_parallelism
        return self

    def set_description(self, description: str) -> Self:
        """Set the description of the operator in plans.

        Args:
            description: Shown in plans instead of the name; the name still labels logs and metrics.
        """
        self._setting("set_description()", description).description = description
        return self

    def disable_chaining(self) -> Self:
        """Exclude the operator from operator chains."""
        self._setting("disable_chaining()").chaining_strategy = "NEVER"
        return self

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Set the slot sharing group; downstream operators inherit it if all their inputs have the same one.

        Args:
            slot_sharing_group: Name of a group, or a `SlotSharingGroup`, whose resources are registered by this call.
        """
        kinds = (str, SlotSharingGroup)
        transformation = self._setting("slot_sharing_group()", slot_sharing_group, kinds=kinds)
        if isinstance(slot_sharing_group, SlotSharingGroup):
            self._environment.register_slot_sharing_group(slot_sharing_group)
            slot_sharing_group = slot_sharing_group.get_name()
        transformation.slot_sharing_group = slot_sharing_group
        return self


class StreamBase(OperatorSettings, Generic[T]):
    """The base class of streams; it adds operators to the program."""

    _is_keyed = False
    _key_type: TypeInformation[Any] | None = None

    def __init__(self, environment: StreamExecutionEnvironment, transformation: Transformation) -> None:
        self._environment = environment
        self._transformation = transformation

    def get_type(self) -> TypeInformation[T]:
        """Return the type of the elements."""
        return type_or_pickled(self._transformation.output_type)

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment of the program."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """Return the execution settings of the program."""
        return self._environment.get_config()

    def _operator(
        self,
        name: str,
        operator: object,
        output_type: TypeInformation[Any] | None,
        *,
        kind: PythonOperatorKind | None = PythonOperatorKind.PROCESS,
        cls: type[OperatorTransformation] = OperatorTransformation,
        other: StreamBase[Any] | None = None,
        **settings: Any,
    ) -> OperatorTransformation:
        """Add an operator that reads this stream, and `other` as its second input."""
        inputs = [self._transformation] if other is None else [self._transformation, transformation_of(other)]
        transformation = cls(
            id=next_id(self._environment),
            name=name,
            inputs=inputs,
            parallelism=self._environment.get_parallelism(),
            output_type=type_or_pickled(output_type),
            user_location=user_location(),
            operator=as_added(operator),
            python_kind=kind,
            keyed=kind in (PythonOperatorKind.KEYED_PROCESS, PythonOperatorKind.KEYED_CO_PROCESS),
            **settings,
        )
        transformations_of(self._environment).append(transformation)
        return transformation

    def _element_operator(
        self, name: str, operator: object, output_type: TypeInformation[Any] | None
    ) -> OperatorTransformation:
        """Add an operator that processes the elements one by one."""
        return self._operator(name, operator, output_type)

    def _new_stream(self, transformation: Transformation) -> DataStream[Any]:
        """Return the output stream of `transformation`."""
        raise NotImplementedError

    def _values(self) -> DataStream[T]:
        """Return the stream of the plain elements: a keyed stream carries `(key, element)` pairs."""
        raise NotImplementedError

    def _like_input(self, transformation: Transformation) -> DataStream[Any]:
        """Give an operator the parallelism of its input and return its output stream."""
        transformation.parallelism = transformation.inputs[0].parallelism
        return self._new_stream(transformation)

    def _partition(self, partitioner: Partitioner) -> PartitionTransformation:
        return PartitionTransformation(
            id=next_id(self._environment),
            name="Partition",
            inputs=[self._transformation],
            parallelism=self._transformation.parallelism,
            output_type=self._transformation.output_type,
            partitioner=partitioner,
            user_location=user_location(),
        )


class DataStreamSink(OperatorSettings):
    """A sink, whose settings can still be changed.

    `DataStream.sink_to`, `add_sink` and `print` return it.

    Example:
        >>> sink = env.from_collection([1, 2], Types.INT()).print()
        >>> _ = sink.name("numbers").uid("print-numbers").set_parallelism(1)
    """

    def __init__(self, environment: StreamExecutionEnvironment, transformation: Transformation) -> None:
        self._environment = environment
        self._transformation = transformation

    def get_transformation(self) -> OperatorTransformation | SinkTransformation | Transformation:
        """Return the transformation of this sink."""
        return self._transformation
