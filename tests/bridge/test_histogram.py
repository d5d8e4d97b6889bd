"""The histogram of nanoseconds: the same counts and percentiles as the library, value by value."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hdrh.histogram import HdrHistogram

from bridge.histogram import Histogram

LONGEST = 600_000_000_000
Values = npt.NDArray[np.int64]


def recorded(*values: int) -> Histogram:
    histogram = Histogram()
    histogram.record(np.array(values, dtype=np.int64))
    return histogram


def by_the_library(values: Values) -> HdrHistogram:
    histogram = HdrHistogram(1, LONGEST, 2)
    for value in values.tolist():
        assert histogram.record_value(value)
    return histogram


def wide_sample(seed: int, size: int = 3000) -> Values:
    """Durations of every magnitude, as many short as long ones."""
    draw = np.random.default_rng(seed)
    return np.exp(draw.uniform(0, math.log(LONGEST), size)).astype(np.int64)


def edges() -> Values:
    """Every power of two in range, and its neighbours: where cells begin and end."""
    powers = 1 << np.arange(LONGEST.bit_length())
    values = np.concatenate((np.arange(1024), powers - 1, powers, powers + 1, [LONGEST]))
    kept: Values = values[(values >= 0) & (values <= LONGEST)]
    return kept


SAMPLES = {
    "edges": edges(),
    "wide": wide_sample(1),
    "narrow": np.random.default_rng(2).normal(1e6, 2e5, 3000).astype(np.int64).clip(0),
    "one value": np.array([123_456_789]),
    "zeros": np.zeros(10, dtype=np.int64),
}


@pytest.fixture(params=SAMPLES.values(), ids=list(SAMPLES))
def values(request: pytest.FixtureRequest) -> Values:
    sample: Values = request.param
    return sample


# Recording


def test_recording_counts_as_the_library_does(values: Values) -> None:
    histogram = Histogram()
    histogram.record(values)
    library = by_the_library(values)
    assert histogram.encode() == library.encode().decode()
    assert histogram.count == library.total_count == len(values)
    assert histogram.min == library.min_value == values.min()
    assert histogram.max == library.max_value == values.max()


def test_it_does_not_matter_in_how_many_parts_values_come(values: Values) -> None:
    whole, parts = Histogram(), Histogram()
    whole.record(values)
    for part in np.array_split(values, 7):
        parts.record(part)
    assert parts.encode() == whole.encode()
    assert parts.summary() == whole.summary()


def test_what_is_out_of_range_counts_as_the_limit() -> None:
    histogram = recorded(-1, -(2**62), LONGEST + 1, 2**62, 5)
    assert histogram.encode() == recorded(0, 0, LONGEST, LONGEST, 5).encode()
    assert (histogram.count, histogram.min, histogram.max) == (5, 0, LONGEST)


def test_recording_nothing_changes_nothing() -> None:
    histogram = recorded(1, 2, 3)
    before = histogram.encode()
    histogram.record(np.array([], dtype=np.int64))
    assert histogram.encode() == before
    assert (histogram.count, histogram.min, histogram.max) == (3, 1, 3)


def test_the_given_values_are_left_alone() -> None:
    values = np.array([-5, 7, 2**62])
    Histogram().record(values)
    assert values.tolist() == [-5, 7, 2**62]


# Reading


def test_percentiles_are_those_of_the_library(values: Values) -> None:
    # A count that every share of it is whole, for the library rounds the rank and we do not.
    values = np.resize(values, 3000)
    histogram = Histogram()
    histogram.record(values)
    library = by_the_library(values)
    percentiles = [0.1, 1.0, 12.5, 50.0, 75.0, 90.0, 99.0, 99.9, 100.0]
    expected = [library.get_value_at_percentile(p) for p in percentiles]
    assert histogram.percentiles(percentiles) == [min(v, int(values.max())) for v in expected]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 99, 100, 101, 999, 1000, 1001, 7000])
def test_a_percentile_is_a_value_that_this_share_does_not_exceed(count: int) -> None:
    # One nanosecond apart and below 256, every value has a cell of its own.
    values = np.sort(np.random.default_rng(count).integers(0, 256, count))
    histogram = Histogram()
    histogram.record(values)
    for percentile in ("0", "0.1", "33.3", "50", "90", "99", "99.9", "100"):
        rank = max(1, math.ceil(Fraction(percentile) * count / 100))
        assert histogram.percentile(float(percentile)) == values[rank - 1]


def test_the_slowest_of_a_thousand_is_not_what_the_other_999_did_not_exceed() -> None:
    assert recorded(*[100] * 999, 200).summary()["p99.9"] == 100
    assert recorded(*[100] * 998, 200, 200).summary()["p99.9"] == 200


def test_no_percentile_is_above_the_maximum(values: Values) -> None:
    histogram = Histogram()
    histogram.record(values)
    assert histogram.percentile(100) == histogram.max == values.max()
    assert histogram.percentile(0) >= values.min()


def test_the_mean_is_not_above_the_maximum_either() -> None:
    # The middle of the bucket that this is in is more than that.
    summary = recorded(3_999_999_999).summary()
    assert summary["mean"] == summary["max"] == 3_999_999_999


def test_figures_are_within_one_percent(values: Values) -> None:
    histogram = Histogram()
    histogram.record(values)
    summary = histogram.summary()
    assert summary["count"] == len(values)
    assert summary["mean"] == pytest.approx(values.mean(), rel=0.01)
    assert histogram.total == pytest.approx(values.sum(), rel=0.01)
    for percentile in (50.0, 90.0, 99.0, 99.9):
        exact = np.percentile(values, percentile, method="inverted_cdf")
        assert summary[f"p{percentile:g}"] == pytest.approx(exact, rel=0.01)


def test_counts_up_to_a_value_are_within_one_percent_of_it(values: Values) -> None:
    histogram = Histogram()
    histogram.record(values)
    bounds = [0, 255, 10_000, 1_000_000, 1_000_000_000, LONGEST * 2]
    for bound, count in zip(bounds, histogram.counts_up_to(bounds), strict=True):
        assert (values <= bound * 0.99).sum() <= count <= (values <= bound).sum()
    assert histogram.counts_up_to([LONGEST * 2]) == [len(values)]


def test_the_curve_rises_from_the_smallest_to_the_largest(values: Values) -> None:
    histogram = Histogram()
    histogram.record(values)
    percentiles, points = zip(*histogram.curve(), strict=True)
    assert list(percentiles) == sorted(percentiles)
    assert list(points) == sorted(points)
    assert (percentiles[0], percentiles[-1]) == (0.0, 100.0)
    assert points[0] == pytest.approx(values.min(), rel=0.01)
    assert points[-1] == values.max()


def test_an_empty_histogram_says_zero() -> None:
    histogram = Histogram()
    assert histogram.summary() == {
        "count": 0,
        "mean": 0.0,
        "p50": 0,
        "p90": 0,
        "p99": 0,
        "p99.9": 0,
        "max": 0,
    }
    assert (histogram.min, histogram.max, histogram.total) == (0, 0, 0.0)
    assert histogram.counts_up_to([0, 10]) == [0, 0]
    assert {value for _, value in histogram.curve()} == {0}
    assert repr(histogram) == "<Histogram: 0 values, max 0 ns>"


# Merging


def test_what_is_encoded_is_decoded(values: Values) -> None:
    histogram = Histogram()
    histogram.record(values)
    copy = Histogram.decode(histogram.encode())
    assert copy.encode() == histogram.encode()
    assert copy.count == histogram.count
    assert copy.max == pytest.approx(histogram.max, rel=0.01)
    assert copy.percentiles((50, 99)) == pytest.approx(histogram.percentiles((50, 99)), rel=0.01)


def test_a_decoded_histogram_goes_on() -> None:
    copy = Histogram.decode(recorded(1, 2_000, 3_000_000).encode())
    copy.record(np.array([4_000_000_000]))
    assert copy.encode() == recorded(1, 2_000, 3_000_000, 4_000_000_000).encode()
    assert copy.max == 4_000_000_000


def test_an_empty_histogram_survives_encoding() -> None:
    copy = Histogram.decode(Histogram().encode())
    assert copy.summary() == Histogram().summary()
    copy.record(np.array([7]))
    assert copy.summary() == recorded(7).summary()


def test_adding_is_recording_both() -> None:
    first, second = wide_sample(1), wide_sample(2)
    merged = Histogram()
    for part in (first, second):
        histogram = Histogram()
        histogram.record(part)
        before = histogram.encode()
        merged.add(histogram)
        assert histogram.encode() == before
    both = Histogram()
    both.record(np.concatenate((first, second)))
    assert merged.encode() == both.encode()
    assert merged.summary() == both.summary()
    assert merged.min == both.min


def test_adding_nothing_changes_nothing() -> None:
    histogram = recorded(1_000_001, 2_000_001)
    histogram.add(Histogram())
    assert (histogram.count, histogram.min, histogram.max) == (2, 1_000_001, 2_000_001)
    empty = Histogram()
    empty.add(histogram)
    assert empty.summary() == histogram.summary()
    assert empty.min == histogram.min


def test_since_is_what_was_recorded_after() -> None:
    histogram = Histogram()
    histogram.record(wide_sample(1))
    earlier = Histogram.decode(histogram.encode())
    late = SAMPLES["narrow"]
    histogram.record(late)
    part = histogram.since(earlier)
    alone = Histogram()
    alone.record(late)
    assert part.encode() == alone.encode()
    assert part.count == alone.count
    assert part.min == pytest.approx(alone.min, rel=0.01)
    assert part.max == pytest.approx(alone.max, rel=0.01)
    assert part.percentiles((50, 99.9)) == pytest.approx(alone.percentiles((50, 99.9)), rel=0.01)


def test_since_now_is_nothing() -> None:
    histogram = recorded(5, 6, 7)
    assert histogram.since(histogram).summary() == Histogram().summary()


def test_since_the_beginning_is_everything(values: Values) -> None:
    histogram = Histogram()
    histogram.record(values)
    everything = histogram.since(Histogram())
    assert everything.encode() == histogram.encode()
    assert everything.max == histogram.max
    assert everything.min == histogram.min
