"""The ends of volumes prove whether a set is whole, before anything big is fetched."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_archives import SETS, SINGLE, VOLUME_BYTES, store, zip_of

from headgate.domain.library.archive_sets.volume_headers import (
    SAMPLE_BYTES,
    SetProof,
    VolumeSample,
    prove_set,
    read_volume,
)
from headgate.domain.library.archive_sets.volumes import ZIP_NUMBER
from headgate.testing.rar_writer import write_rar

PROVABLE = ["z01 + zip", "zip.001", "7z.001", "part1.rar"]
RAR_SETS = [
    ["rar3-vols.part1.rar", "rar3-vols.part2.rar", "rar3-vols.part3.rar"],
    ["rar5-vols.part1.rar", "rar5-vols.part2.rar", "rar5-vols.part3.rar"],
    ["rar3-old.rar", "rar3-old.r00", "rar3-old.r01"],
]


def sample(raw: bytes) -> VolumeSample:
    return VolumeSample(len(raw), raw[:SAMPLE_BYTES], raw[-SAMPLE_BYTES:])


def samples(paths: list[Path]) -> dict[int, VolumeSample]:
    return {number: sample(path.read_bytes()) for number, path in enumerate(paths, start=1)}


def without(volumes: dict[int, VolumeSample], number: int) -> dict[int, VolumeSample]:
    return {one: volume for one, volume in volumes.items() if one != number}


@pytest.mark.parametrize("kind", PROVABLE)
def test_a_whole_set_is_proven_and_every_lesser_one_is_not(tmp_path: Path, kind: str) -> None:
    volumes = samples(SETS[kind](tmp_path))
    whole = prove_set(volumes)
    assert (whole.state, whole.total_volumes) == ("complete", len(volumes))
    for number in volumes:
        proof = prove_set(without(volumes, number))
        assert proof.state in {"incomplete", "unknown"}, number
        assert proof.total_volumes in {None, len(volumes)}, number


def test_the_zip_of_a_split_zip_need_not_be_numbered(tmp_path: Path) -> None:
    *others, last = samples(SETS["z01 + zip"](tmp_path)).values()
    numbered = {**dict(enumerate(others, start=1)), ZIP_NUMBER: last}
    assert prove_set(numbered) == SetProof("complete", "last_volume_there", len(others) + 1)
    assert prove_set(without(numbered, 2)) == SetProof("incomplete", "volumes_missing", len(others) + 1)
    assert prove_set({ZIP_NUMBER: last}).total_volumes == len(others) + 1


def test_an_archive_of_its_own_is_no_volume_of_a_set(tmp_path: Path) -> None:
    first, *_ = samples(SETS["z01 + zip"](tmp_path)).values()
    alone = sample(zip_of({"other": b""}))
    assert prove_set({1: first, ZIP_NUMBER: alone}) == SetProof("contradictory", "not_a_volume")


@pytest.mark.parametrize("names", RAR_SETS, ids=lambda names: names[0])
def test_real_rar_sets_are_proven(rar_samples: Path, names: list[str]) -> None:
    volumes = samples([rar_samples / name for name in names])
    assert prove_set(volumes) == SetProof("complete", "last_volume_there", 3)
    assert prove_set(without(volumes, 3)) == SetProof("incomplete", "next_volume_missing")
    for number in (1, 2):
        assert prove_set(without(volumes, number)) == SetProof("incomplete", "volumes_missing", 3)


def test_the_first_volume_of_a_7z_tells_how_many_there_are(tmp_path: Path) -> None:
    first, *_ = paths = SETS["7z.001"](tmp_path)
    assert prove_set({1: VolumeSample(VOLUME_BYTES, first.read_bytes()[:32])}).total_volumes == len(paths)


def test_the_last_volume_of_a_split_zip_tells_how_many_there_are(tmp_path: Path) -> None:
    paths = SETS["z01 + zip"](tmp_path)
    facts = read_volume(sample(paths[-1].read_bytes()))
    assert (facts.role, facts.total_volumes, facts.is_last) == ("volume", len(paths), True)


@pytest.mark.parametrize("kind", ["part1.rar", "7z.001", "zip.001"])
def test_volumes_in_the_wrong_place_contradict_each_other(tmp_path: Path, kind: str) -> None:
    volumes = samples(SETS[kind](tmp_path))
    swapped = {**volumes, 1: volumes[2], 2: volumes[1]}
    assert prove_set(swapped).state == "contradictory"


@pytest.mark.parametrize("kind", ["zip by zip", "zip64", "7z", "rar5"])
def test_an_archive_that_is_alone_is_told_from_a_volume(tmp_path: Path, kind: str) -> None:
    (path,) = SINGLE[kind](tmp_path)
    assert read_volume(sample(path.read_bytes())).role == "alone"
    assert prove_set(samples([path])) == SetProof("complete", "last_volume_there", 1)


@pytest.mark.parametrize("kind", PROVABLE)
def test_the_first_volume_is_told_from_an_archive_that_is_alone(tmp_path: Path, kind: str) -> None:
    first, *_ = SETS[kind](tmp_path)
    assert read_volume(sample(first.read_bytes())).role == "volume"
    assert prove_set(samples([first])).state == "incomplete"


def test_a_zip_at_the_end_of_a_volume_is_not_taken_for_its_end(tmp_path: Path) -> None:
    """Stored archives inside a split zip bring directories of their own."""
    inner = zip_of({"inner": bytes(100)}, 0)
    whole = zip_of({"a.zip": inner + bytes(50_000), "b.zip": inner}, 0)
    cut = whole.index(inner) + len(inner) + 10
    paths = store(tmp_path, [whole[:cut], whole[cut : 2 * cut], whole[2 * cut :]])
    assert read_volume(sample(paths[0].read_bytes())).is_last is False
    assert prove_set(samples(paths[:2])).state == "incomplete"
    assert prove_set(samples(paths)).state == "complete"


def test_encrypted_headers_and_formats_without_numbers_prove_nothing(
    rar_samples: Path, tmp_path: Path
) -> None:
    assert prove_set(samples([rar_samples / "rar5-hpsw.rar"])).state == "unknown"
    assert prove_set(samples(SETS["tar.gz.001"](tmp_path))).state == "unknown"
    assert prove_set({}).state == "unknown"


@settings(deadline=None)
@given(sizes=st.lists(st.integers(0, 3_000), min_size=1, max_size=6), volume_bytes=st.integers(400, 2_000))
def test_any_rar_set_is_proven_by_all_its_volumes_and_by_no_fewer(
    sizes: list[int], volume_bytes: int
) -> None:
    files = {f"file {number}": bytes(size) for number, size in enumerate(sizes)}
    volumes = {n: sample(raw) for n, raw in enumerate(write_rar(files, volume_bytes=volume_bytes), start=1)}
    assert prove_set(volumes).state == "complete"
    for number in volumes:
        assert prove_set(without(volumes, number)).state != "complete"


@given(head=st.binary(max_size=200), tail=st.binary(max_size=200), size=st.integers(0, 2**40))
@pytest.mark.parametrize(
    "magic", [b"", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07\x00", b"Rar!\x1a\x07\x01\x00", b"PK\x03\x04"]
)
def test_no_bytes_make_the_proof_fail(magic: bytes, head: bytes, tail: bytes, size: int) -> None:
    proof = prove_set({1: VolumeSample(size, magic + head, tail), 2: VolumeSample(size, tail, magic + head)})
    assert proof.state in {"complete", "incomplete", "unknown", "contradictory"}
