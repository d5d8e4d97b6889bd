"""Writes quantities for people: three digits, a unit, and a dash for what was not measured."""

from __future__ import annotations

__all__ = ["MISSING", "duration", "number", "percent", "seconds", "size"]

MISSING = "\N{EN DASH}"

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


def duration(nanoseconds: float | None) -> str:
    """1_234_567 is "1.23 ms"."""
    return _scaled(nanoseconds, _TIMES)


def seconds(value: float | None) -> str:
    """The same for a time in seconds."""
    return _scaled(None if value is None else value * 1e9, _TIMES)


def size(count: float | None) -> str:
    """1_234_567 is "1.23 MB"."""
    return _scaled(count, _SIZES)


def number(value: float | None) -> str:
    """A plain count in full, anything else to three digits: "12,345", "16.2", "0.0312"."""
    if value is None:
        return MISSING
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return _three_digits(value)


def percent(share: float | None) -> str:
    """0.8731 is "87 %"; a share that is small but there is never shown as nothing."""
    if share is None:
        return MISSING
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{share * 100:.0f} %" if share >= 0.0995 or share == 0 else f"{share * 100:.1f} %"


def _scaled(value: float | None, units: tuple[tuple[float, str], ...]) -> str:
    if value is None:
        return MISSING
    # What would round up to 1000 of a unit is written as 1 of the next.
    factor, unit = next((u for u in units if abs(value) >= u[0] * 0.9995), units[-1])
    if factor == 1 and float(value).is_integer():
        return f"{value:.0f} {unit}"
    return f"{_three_digits(value / factor)} {unit}"


def _three_digits(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    if abs(value) >= 9.995:
        return f"{value:.1f}"
    if abs(value) >= 0.9995:
        return f"{value:.2f}"
    return f"{value:.3g}"
