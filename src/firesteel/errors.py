"""The errors that firesteel raises on purpose.

```
FiresteelError
├── InvalidProgramError      (also ValueError)   the program can't become a job: bad graph, bad setting
├── TypeMismatchError        (also TypeError)    a value does not fit its declared type
│   └── ValueOverflowError   (also OverflowError) a number is outside the range of its declared type
├── TranslationError                             a valid job that the data plane can't carry out
├── JobExecutionError                            a job failed, was cancelled or can't be reached
└── FencingTokenError                            a call fenced by the token of a former leader
```
"""

from __future__ import annotations


class FiresteelError(Exception):
    """Root of all errors that firesteel raises on purpose."""


class InvalidProgramError(FiresteelError, ValueError):
    """The program can't become a job; the text names the operators concerned."""


class TranslationError(FiresteelError):
    """A valid job that the data plane can't carry out."""


class JobExecutionError(FiresteelError):
    """A job failed, was cancelled or can't be reached."""


class FencingTokenError(FiresteelError):
    """A call carried the token of a former leader (Flink: `FencingTokenException`)."""


class TypeMismatchError(FiresteelError, TypeError):
    """A value that does not fit its declared type.

    Attributes:
        expected: The declared type, in words.
        value: What was found instead.
        path: Where in the record, e.g. `.f1[0]`; empty for the record itself.
        subject: What the record is, in words; empty for any value.
    """

    def __init__(self, expected: str, value: object, path: str = "", subject: str = "") -> None:
        super().__init__(expected, value, path, subject)
        self.expected = expected
        self.value = value
        self.path = path
        self.subject = subject

    def below(self, step: str) -> TypeMismatchError:
        """The same mismatch seen from the container that holds the value under `step`."""
        return type(self)(self.expected, self.value, step + self.path, self.subject)

    def of(self, subject: str) -> TypeMismatchError:
        """The same mismatch in a record that is called `subject`."""
        return type(self)(self.expected, self.value, self.path, subject)

    def __str__(self) -> str:
        field = f"field {self.path.lstrip('.')}" if self.path else ""
        where = ", ".join(filter(None, (self.subject, field))) or "value"
        return f"{where}: declared as {self.expected}, found {type(self.value).__name__} {_shown(self.value)}"


class ValueOverflowError(TypeMismatchError, OverflowError):
    """A number outside the range of its declared type.

    PyFlink encodes results with the width of their type and fails with an `OverflowError`, too.
    """

    def __str__(self) -> str:
        return f"{super().__str__()}, which is out of range"


def _shown(value: object) -> str:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:  # of pandas or numpy, whose texts have lines
        return f"of shape {shape}"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
