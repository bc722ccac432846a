"""Numbers of Office files as their number formats show them, and dates in ISO form.

A format such as `#,##0.00 "kg"` is read for its decimals, groups, leading zeros, percent sign and
the text around it, of its first section only. A number whose format has anything else, such as a
fraction or an exponent, is shown with up to 15 digits.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

_DAY = re.compile(r"(?<![a-z])(?:[mhs]*[dy][dmyhs]*|m{3,})(?![a-z])", re.IGNORECASE)
_TIME = re.compile(r"(?<![a-z])(?:[hs]+|m+:s+)(?![a-z])", re.IGNORECASE)
_ELAPSED = re.compile(r"\[[hms]+\]", re.IGNORECASE)
_NO_DATE = re.compile(r"\"[^\"]*\"|\[[^\]]*\]|\\.|AM/PM|A/P", re.IGNORECASE)
_DAY_ZERO = date(1899, 12, 30)
_FALSE_LEAP_DAY = 60
"""The number of 29 February 1900, a day that the programs count and that was none."""
_DAYS_TO_1904 = 1462
"""Files of older programs for the Mac count from the first day of 1904."""
_DAY_MAX = 2_958_465
"""The last day of the year 9999."""
_DAY_SECONDS = 86_400
_PART = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|[_*].|(.)', re.DOTALL)
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_SHOWN = " $€£¥+-()%"
_DIGITS_MAX = 15
_DECIMALS_MAX = 10
_WHOLE_MAX = 40
"""The most characters of a format before its point."""
_CODE_MAX = 1000
"""The most characters of a format that is read; Excel writes 255 at most."""


def number_text(text: str, code: str, *, is_1904: bool = False) -> str:
    """Returns a number as it is shown; a text that is no number is unchanged.

    >>> number_text("1234.5", '#,##0.00 "kg"'), number_text("0.125", "0%")
    ('1,234.50 kg', '13%')
    >>> number_text("45912", "m/d/yy")
    '2025-09-12'
    """
    try:
        number = float(text)
    except ValueError:
        return text
    if number - number != 0:  # infinite, or no number
        return text
    code = code if len(code) <= _CODE_MAX else ""
    shown = _date(number, code, is_1904=is_1904) or _decimal(number, code)
    return shown or (text if _INTEGER.fullmatch(text) else f"{number:.{_DIGITS_MAX}g}")


def _date(number: float, code: str, *, is_1904: bool) -> str | None:
    """Returns a date, a time or both; None if the format is not theirs or no day has the number."""
    bare = _NO_DATE.sub("", code)
    has_day, has_time = _DAY.search(bare) is not None, _TIME.search(bare) is not None
    is_elapsed = _ELAPSED.search(code) is not None
    seconds = round(number * _DAY_SECONDS)
    day, second = divmod(seconds, _DAY_SECONDS)
    if not (has_day or has_time or is_elapsed) or not 0 <= day <= _DAY_MAX:
        return None
    if is_elapsed:
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    clock = f"{second // 3600:02}:{second // 60 % 60:02}"
    clock += f":{second % 60:02}" if second % 60 else ""
    if not has_day:
        return clock
    if is_1904:
        day += _DAYS_TO_1904
    elif day < _FALSE_LEAP_DAY:
        day += 1
    if not 1 < day <= _DAY_MAX:
        return None
    shown = (_DAY_ZERO + timedelta(days=day)).isoformat()
    return f"{shown} {clock}" if has_time and second else shown


def _decimal(number: float, code: str) -> str | None:
    """Returns a number by a format of digits, None if the format has anything else."""
    pattern, before, after = "", "", ""
    for quoted, escaped, symbol, char in _PART.findall(code):
        if char == ";":
            break
        if char and char in "#0?,." and not after:
            pattern += char
        elif char and char not in _SHOWN:
            return None
        elif pattern:
            after += quoted or escaped or symbol or char
        else:
            before += quoted or escaped or symbol or char
    whole, point, decimals = pattern.partition(".")
    if not pattern or "." in decimals or "," in decimals or whole.endswith(","):
        return None
    if abs(number) >= 10**_DIGITS_MAX or len(decimals) > _DECIMALS_MAX or len(whole) > _WHOLE_MAX:
        return None
    exact = Decimal(f"{number:.{_DIGITS_MAX}g}") * (100 if "%" in before + after else 1)
    rounded = abs(exact).quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    digits, _, fraction = f"{rounded:f}".partition(".")
    digits = digits.zfill(whole.count("0"))
    if "," in whole:
        digits = f"{int(digits):,}"
    least = len(decimals.rstrip("#?"))
    fraction = fraction[:least] + fraction[least:].rstrip("0")
    sign = "-" if exact < 0 and rounded else ""
    shown = digits + (point + fraction if fraction else "")
    return f"{sign}{before}{shown}{after}".strip()
