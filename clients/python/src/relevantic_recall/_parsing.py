"""Reading of JSON values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

Json = Mapping[str, Any]


def parse_time(text: str) -> datetime:
    """Parses an RFC 3339 time. Python 3.10 reads neither `Z` nor nanoseconds."""
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text.replace("Z", "+00:00")))


def optional_time(text: str | None) -> datetime | None:
    """Parses a time that may be absent."""
    return None if text is None else parse_time(text)


def id_of(data: Json | None) -> str | None:
    """Returns the id of an object that may be absent."""
    return None if data is None else str(data["id"])
