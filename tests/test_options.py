"""One dataclass of options: the command line, ``solve`` and the estimator have its names and defaults."""

from __future__ import annotations

import inspect
from dataclasses import fields

import numpy as np
import pytest

import certmix
from certmix import CertifiedGaussianMixture, InputError, Problem
from certmix.cli.flags import flag, with_flags
from certmix.cli.solve import solve_command
from certmix.options import ENGINE_OPTIONS, Options, options_of

PROBLEM = Problem(np.array([0.0, 0.1, 4.0, 4.2, 9.0]), 2, variance=1.0)
DEFAULTS = {f.name: f.default for f in fields(Options)}


def test_every_field_says_what_it_is():
    """Every option has a sentence of help and a kind; the help of ``solve`` says the same."""
    assert options_of(Options).keys() == DEFAULTS.keys()
    for name, about in options_of(Options).items():
        assert about.help.endswith("."), name
        assert about.kind is not None, name
        assert f"    {name} : " in str(certmix.solve.__doc__), name


def test_the_command_line_has_a_flag_for_every_option():
    """``certmix solve`` takes every option, under its own name, but for objects of Python."""
    parameters = inspect.signature(with_flags(solve_command)).parameters
    for name, about in options_of(Options).items():
        assert (name in parameters) is not about.python_only
        assert flag(name, about).startswith("--")


def test_solve_shows_every_option_with_its_default():
    """The signature of ``solve`` is the problem, the options, and who is told of the run."""
    shown = inspect.signature(certmix.solve).parameters
    assert list(shown) == ["problem", *DEFAULTS, "options", "verbose", "observers"]
    assert {name: shown[name].default for name in DEFAULTS} == DEFAULTS


def test_the_estimator_has_the_same_names_and_defaults():
    """What the estimator takes of the options has their names and defaults; only the seed is scikit-learn's."""
    own = inspect.signature(CertifiedGaussianMixture).parameters
    missing = DEFAULTS.keys() - own.keys()
    assert missing == {"seed", "start", "resume", "target", "verify_budget", *ENGINE_OPTIONS}
    assert {name: own[name].default for name in DEFAULTS if name in own} == {
        name: default for name, default in DEFAULTS.items() if name in own
    }


def test_what_is_given_by_name_counts_instead_of_the_options():
    """``solve(problem, options=..., name=...)``: the name wins, None leaves what is there."""
    options = Options("hard-em", seed=3)
    assert certmix.solve(PROBLEM, options=options).engine == "hard-em"
    assert certmix.solve(PROBLEM, "enumerate", options=options, time_limit=None).engine == "enumerate"


def test_an_option_that_does_not_exist_is_named():
    """A slip in a name is told with what was meant."""
    with pytest.raises(TypeError, match="no option 'time_limt'; did you mean 'time_limit'"):
        certmix.solve(PROBLEM, time_limt=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"time_limit": -1}, "the time limit must be a number of seconds >= 0, not -1"),
        ({"time_limit": float("nan")}, "the time limit must be a number of seconds >= 0"),
        ({"node_limit": 2.5}, "node_limit must be a whole number >= 0, not 2.5"),
        ({"threads": 0}, "threads must be a whole number >= 1"),
        ({"seed": True}, "seed must be a whole number >= 0, not True"),
        ({"gap": -1.0}, "the relative gap must be a number >= 0"),
        ({"memory_limit": "lots"}, "the memory limit must be a number of bytes"),
        ({"verify": "maybe"}, "verify must be True, False or 'auto', not 'maybe'"),
        ({"verify_budget": -1}, "verify_budget must be a number >= 0"),
        ({"logarithm": "cord"}, "unknown logarithm 'cord'; did you mean 'chord'"),
    ],
)
def test_bad_values_are_refused_before_any_work(given, words):
    """The dataclass checks itself; the error names the option and what it may be."""
    with pytest.raises(InputError, match=words):
        Options(**given)


@pytest.mark.parametrize("value", ["pseudo-cost", "strong"])
def test_an_option_of_another_engine_is_refused_even_at_its_default(value):
    """An option that the engine would ignore is refused, whatever its value."""
    with pytest.raises(InputError, match=r"branching \(--branching\) is of no use here: .* only bnb"):
        certmix.solve(PROBLEM, "enumerate", branching=value)


def test_engines_find_the_default_of_their_own_options():
    """Where an option of single engines is not given, ``own`` is its default."""
    assert Options().own("branching") == "pseudo-cost"
    assert Options(breakpoints=3).own("breakpoints") == 3
