"""The classes that `firesteel.common.typeinfo` re-exports."""
