"""What stands for an option that a call leaves to the configuration of the repository."""

from enum import Enum
from typing import Final


class Configured(Enum):
    """The type of `CONFIGURED`."""

    CONFIGURED = "configured"


CONFIGURED: Final = Configured.CONFIGURED
"""The default of a parameter that `repo config` can set: what the root's configuration says, or
else what the table says. Any value that is given, None included, comes before both."""
