"""The list of mutants fits the code: a mutant that cannot be put back tests nothing."""

from __future__ import annotations

import sys

import pytest
from repository import ROOT, TESTS, functions_of

sys.path.insert(0, str(TESTS / "defects"))

from listed import Mutant, list_mutants

pytestmark = pytest.mark.once

MUTANTS = list_mutants()


def _name(mutant: Mutant) -> str:
    return mutant.name


@pytest.mark.parametrize("mutant", MUTANTS, ids=_name)
def test_a_mutant_replaces_a_text_that_stands_once_in_its_file(mutant: Mutant) -> None:
    found = {
        change.old: (ROOT / change.file).read_text(encoding="utf-8").count(change.old)
        for change in mutant.changes
    }
    assert found == dict.fromkeys(found, 1)
    assert all(change.old != change.new for change in mutant.changes)


@pytest.mark.parametrize("mutant", MUTANTS, ids=_name)
def test_a_mutant_names_tests_that_exist(mutant: Mutant) -> None:
    assert mutant.tests
    for test in mutant.tests:
        file, _, name = test.partition("::")
        names = {function.name for function in functions_of(ROOT / file)}
        assert not name or name.partition("[")[0].rpartition("::")[2] in names, test


def test_no_two_mutants_have_one_name() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names))
