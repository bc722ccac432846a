"""Every error that the library raises. A class says what a caller can do about it; `kind` is a
stable code that programs may compare, and `hint` the next step.

>>> import ibidem
>>> try:
...     ibidem.open("/nowhere")
... except ibidem.errors.NotFoundError as error:
...     print(error.kind)
repository-not-found
"""

from ibidem.objects.errors import (
    ConflictError,
    CorruptError,
    ErasedError,
    ErrorKind,
    FormatError,
    IbidemError,
    IndexUnavailableError,
    InvalidInputError,
    NotFoundError,
    RecordedError,
    RemoteError,
    ReplayError,
    RunMismatchError,
    StorageError,
    UnrecordedError,
)

__all__ = [
    "ConflictError",
    "CorruptError",
    "ErasedError",
    "ErrorKind",
    "FormatError",
    "IbidemError",
    "IndexUnavailableError",
    "InvalidInputError",
    "NotFoundError",
    "RecordedError",
    "RemoteError",
    "ReplayError",
    "RunMismatchError",
    "StorageError",
    "UnrecordedError",
]
