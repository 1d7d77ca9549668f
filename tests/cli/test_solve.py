"""``certmix solve`` on good input: what it prints, what it writes, how it ends."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from certmix.problem import Problem
from certmix.result import Result

# What the issue of the command line promises to every reader of --json.
PROMISED = {
    "status": str,
    "termination": str,
    "objective": float,
    "lower_bound": float,
    "gap_absolute": float,
    "gap_relative": float,
    "engine": str,
    "nodes": int,
    "seconds": float,
    "labels": list,
    "sizes": list,
    "means": list,
    "weights": list,
    "certificate": str,
}
ANY = "solve data.csv -k 2 --columns a,b --variance 0.5"
SMALL = f"{ANY} --engine enumerate"


def rows(path):
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


def test_json_is_one_object_with_the_promised_keys(certmix):
    """Standard output holds exactly one JSON object, and every promised key has the promised type."""
    answer = certmix(f"{SMALL} --json --no-verify")
    assert answer.code == 0
    for key, kind in PROMISED.items():
        assert isinstance(answer.json[key], kind), key
    assert answer.json["status"] == "optimal"
    assert answer.json["certificate"] == "computed"
    assert answer.json["sizes"] == [3, 3]
    assert answer.json["labels"][0] != answer.json["labels"][2]


def test_the_objective_is_that_of_the_library(certmix, files):
    """The value printed is the evaluator's value of the labels printed."""
    found = certmix(f"{SMALL} --json --quiet").json
    frame = pd.read_csv(files / "data.csv")[["a", "b"]]
    point = Problem(frame, 2, variance=0.5).objective.best(np.array(found["labels"]))
    assert found["objective"] == pytest.approx(point.value, rel=1e-14)
    assert found["lower_bound"] <= found["objective"]
    np.testing.assert_allclose(found["means"], point.means)


def test_result_on_standard_output_log_on_standard_error(certmix):
    """Without --json the summary is the result; the log does not mix with it."""
    answer = certmix(SMALL)
    assert answer.code == 0
    assert "Certified Gaussian mixture clustering" in answer.out
    assert "proved optimal" in " ".join(answer.out.split())
    assert "incumbent" not in answer.out
    assert "incumbent" in answer.err


def test_quiet_silences_the_log(certmix):
    """--quiet leaves standard error empty."""
    assert certmix(f"{SMALL} --quiet").err == ""


def test_without_covariance_the_variance_is_found(certmix):
    """It is unknown for a user's file, and one line of the log says so; with uniform weights it does not matter."""
    plain = "solve data.csv -k 2 --columns a,b --engine enumerate --json"
    answer = certmix(plain)
    assert answer.err.count("no covariance was given, so one variance") == 1
    assert answer.json["variance"] > 0
    assert answer.json["objective"] == certmix(f"{plain} --variance unknown").json["objective"]
    assert certmix(f"{plain} --variance-range 2,").json["variance"] == 2.0
    uniform = certmix(f"{plain} --weights uniform")
    assert "does not depend on the variance" in uniform.err
    assert uniform.json["objective"] == certmix(f"{plain} --weights uniform --variance 1").json["objective"]
    assert "no covariance" not in certmix(f"{SMALL} --json").err
    assert certmix(f"{SMALL} --json").json["warnings"] == []


def test_a_clustering_without_scatter_names_the_option(certmix, files):
    """Two places and two components: no largest likelihood, and the message says what to give."""
    (files / "places.csv").write_text("a\n0\n0\n1\n1\n")
    answer = certmix("solve places.csv -k 2")
    assert answer.code == 2
    assert "the likelihood has no maximum" in answer.err
    assert "--variance-range LO" in answer.err
    assert certmix("solve places.csv -k 2 --variance-range 0.1").code == 0
    assert certmix("solve places.csv -k 2 --variance 1").code == 0
    assert certmix("solve places.csv -k 2 --weights uniform").code == 0


def test_a_result_without_proof_is_exit_code_3(certmix):
    """A local engine proves nothing: exit code 3, certificate none, no bound; the result is still there."""
    answer = certmix("solve data.csv -k 2 --columns a,b --variance 0.5 --engine hard-em --json")
    assert answer.code == 3
    assert answer.json["status"] == "feasible"
    assert answer.json["certificate"] == "none"
    assert answer.json["lower_bound"] is None
    assert answer.json["gap_absolute"] is None
    assert answer.json["objective"] == pytest.approx(certmix(f"{SMALL} --json").json["objective"])


def test_infeasible_is_exit_code_4_with_an_explanation(certmix):
    """Contradictory demands: exit code 4, the reason in words, and a JSON object that says so."""
    answer = certmix(f"{SMALL} --min-size 4 --json")
    assert answer.code == 4
    assert answer.json["status"] == "infeasible"
    assert set(PROMISED) <= answer.json.keys()
    assert "--min-size" in answer.json["message"]
    quiet = certmix(f"{SMALL} --min-size 4 --quiet")
    assert quiet.code == 4
    assert "--min-size" in quiet.err


def test_out_writes_its_files(certmix, files):
    """--out leaves tables, result and certificate; snapshots are gone once the result is there."""
    answer = certmix(f"{SMALL} --out deep/out --json")
    out = files / "deep" / "out"
    assert sorted(p.name for p in out.iterdir()) == [
        "assignments.csv",
        "certificate.json",
        "certificate.npz",
        "parameters.csv",
        "result.json",
        "result.npz",
        "trace.csv",
    ]
    assignments = rows(out / "assignments.csv")
    assert assignments[0] == ["sample", "label", "component", "posterior", "runner_up", "fixed"]
    assert [row[0] for row in assignments[1:]] == ["s1", "s2", "s3", "s4", "s5", "s6"]
    assert [int(row[1]) for row in assignments[1:]] == answer.json["labels"]
    assert all(0.5 < float(row[3]) <= 1 for row in assignments[1:])
    parameters = rows(out / "parameters.csv")
    assert parameters[0] == ["component", "name", "size", "weight", "mean a", "mean b"]
    assert [[float(x) for x in row[4:]] for row in parameters[1:]] == answer.json["means"]
    assert rows(out / "trace.csv")[0] == ["seconds", "incumbent", "bound"]
    loaded = Result.load(out / "result.json")
    assert loaded.objective == answer.json["objective"]
    assert loaded.names == ("s1", "s2", "s3", "s4", "s5", "s6")


def test_an_infeasible_run_leaves_no_tables_of_an_earlier_one(certmix, files):
    """Tables of a former run would be taken for the present one's."""
    certmix(f"{SMALL} --out out")
    assert certmix(f"{SMALL} --out out --min-size 4 --overwrite").code == 4
    assert not (files / "out" / "assignments.csv").exists()
    assert Result.load(files / "out" / "result.json").status == "infeasible"


@pytest.mark.parametrize("name", ["result.json", "snapshot.json"])
def test_results_are_not_written_over_unasked(certmix, files, name):
    """A folder with a result, or with the snapshot of a killed run, is refused before any work, and left as it is."""
    (files / "out").mkdir()
    (files / "out" / name).write_text("mine")
    answer = certmix(f"{SMALL} --out out")
    assert answer.code == 2
    assert f"({name})" in answer.err
    assert "--overwrite" in answer.err
    assert answer.out == ""
    assert [(p.name, p.read_text()) for p in (files / "out").iterdir()] == [(name, "mine")]
    assert certmix(f"{SMALL} --out out --overwrite").code == 0
    assert not (files / "out" / "snapshot.json").exists()


def test_an_unfinished_run_goes_on(certmix, files):
    """A run that stopped at a limit stays in its folder, is not overwritten unasked, and is finished by --resume."""
    first = certmix(f"{ANY} --engine interval --node-limit 0 --out out")
    assert first.code == 3
    assert (files / "out" / "snapshot.json").exists()
    refused = certmix(f"{ANY} --engine interval --out out")
    assert refused.code == 2
    assert "--resume out" in refused.err
    elsewhere = certmix(f"{ANY} --resume out --out other")
    assert elsewhere.code == 2
    assert "its own folder" in elsewhere.err
    again = certmix(f"{ANY} --resume out --json")
    assert again.code == 0
    assert "resumed after" in again.err
    assert again.json["engine"] == "interval"
    assert again.json["resumes"] == 1
    assert Result.load(files / "out").certificate is not None
    assert not [p.name for p in (files / "out").iterdir() if "snapshot" in p.name]
    finished = certmix(f"{ANY} --resume out")
    assert finished.code == 2
    assert "its run is finished" in finished.err


def test_data_that_changed_are_not_the_run_that_is_resumed(certmix, files):
    """A file with another number, another variance: refused, and the message says what differs."""
    certmix(f"{ANY} --engine interval --node-limit 0 --out out")
    other = certmix(f"{ANY} --engine sdp --resume out")
    assert other.code == 2
    assert "engine ('interval' there, 'sdp' here)" in other.err
    text = (files / "data.csv").read_text()
    (files / "data.csv").write_text(text.replace("4.1", "4.10000001"))
    answer = certmix(f"{ANY} --resume out")
    assert answer.code == 2
    assert "cannot be resumed: it differs in data" in answer.err
    assert (files / "out" / "snapshot.json").exists()
    nothing = certmix(f"{ANY} --resume nowhere")
    assert nothing.code == 2
    assert "nothing to resume" in nothing.err
    assert not (files / "nowhere").exists()


def test_standardised_means_can_be_mapped_back(certmix, files):
    """With --standardize the parameters also hold the means in original coordinates: the cluster averages."""
    answer = certmix(f"{SMALL} --standardize --out out --json")
    record = answer.json["preprocessing"]
    mapped = np.array(answer.json["means"]) * record["scale"] + record["centre"]
    frame = pd.read_csv(files / "data.csv")[["a", "b"]].to_numpy()
    labels = np.array(answer.json["labels"])
    averages = np.array([frame[labels == k].mean(axis=0) for k in range(2)])
    np.testing.assert_allclose(mapped, averages)
    table = rows(files / "out" / "parameters.csv")
    assert table[0][-2:] == ["original mean a", "original mean b"]
    np.testing.assert_allclose([[float(x) for x in row[-2:]] for row in table[1:]], averages)


def test_principal_components_are_recorded(certmix):
    """--pca clusters by the scores and records the loadings."""
    answer = certmix("solve data.csv -k 2 --columns a,b --pca 1 --variance 1 --engine enumerate --json")
    assert answer.json["feature_names"] == ["PC1"]
    assert np.array(answer.json["preprocessing"]["components"]).shape == (1, 2)
    assert any("explain" in note for note in answer.json["notes"])


def test_label_column_names_the_components(certmix):
    """Known labels are obeyed and name the components."""
    answer = certmix(f"{SMALL} --label-column label --json")
    assert answer.json["component_names"] == ["p", "q"]
    assert answer.json["labels"] == [0, 0, 1, 1, 0, 1]
    assert [c["satisfied"] for c in answer.json["constraints"]] == [True, True]


def test_precision_from_classes_leaves_blanks_out(certmix, files):
    """--precision-from estimates the precision from the classes in a column."""
    from certmix import estimate_precision

    answer = certmix(
        "solve data.csv -k 2 --columns a,b --precision-from pooled --class-column group "
        "--engine enumerate --json"
    )
    assert answer.code == 0
    frame = pd.read_csv(files / "data.csv")
    precision = estimate_precision(frame[["a", "b"]], frame["group"], "pooled")
    point = Problem(frame[["a", "b"]], 2, precision=precision).objective.best(np.array(answer.json["labels"]))
    assert answer.json["objective"] == pytest.approx(point.value, rel=1e-12)


OPTIONS = {
    "variance per component": "--variance 1,2",
    "precision file": "--precision precision.csv",
    "uniform weights": "--weights uniform --variance 1",
    "given weights": "--weights 0.25,0.75 --variance 1",
    "jeffreys": "--prior jeffreys --variance 1",
    "two priors": "--prior dirichlet=2 --prior gaussian=10 --variance 1",
    "sizes": "--min-size 2 --max-size 4 --variance 1",
    "limits": "--gap 0.1 --absolute-gap 1 --time-limit 60 --node-limit 99 --threads 1 --seed 5 --variance 1",
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_option_is_understood(certmix, options):
    """Each option of the model and of the run gives a certified result on a small file."""
    answer = certmix(f"solve data.csv -k 2 --columns a,b --engine enumerate --json {options}")
    assert answer.code == 0, answer.err
    assert answer.json["gap_absolute"] <= 1


IRIS1D = {
    "iris1d": (280.0197, [50, 64, 36]),
    "iris1d:n=45": (194.945547, [15, 18, 12]),
    "iris1d:n=45,sigma=0.4": (85.361502, [15, 18, 12]),
    "iris1d:variant=sklearn": (279.9339, [50, 64, 36]),
}


@pytest.mark.parametrize(("data", "value", "sizes"), [(k, *v) for k, v in IRIS1D.items()], ids=IRIS1D)
def test_values_of_the_reference(certmix, data, value, sizes):
    """The one-dimensional instances of the paper, certified, with their known values."""
    answer = certmix(f"solve {data} -k 3 --engine dynamic --json --quiet")
    assert answer.code == 0
    assert answer.json["objective"] == pytest.approx(value, abs=5e-5)
    assert answer.json["gap_absolute"] < 1e-6
    assert answer.json["sizes"] == sizes


CERTIFIED = {"brca -k 2": (1566.4003302, [453, 116]), "iris -k 3": (693.03972, None)}


@pytest.mark.parametrize(("data", "value", "sizes"), [(k, *v) for k, v in CERTIFIED.items()], ids=CERTIFIED)
def test_several_dimensions_are_certified_by_default(certmix, data, value, sizes):
    """Without any option about engines the known optimum of a built-in set is found and proved: exit code 0."""
    answer = certmix(f"solve {data} --json --quiet --verify")
    assert answer.code == 0
    assert answer.json["engine"] == "dual"
    assert answer.json["status"] == "optimal"
    assert answer.json["certificate"] == "verified"
    assert answer.json["objective"] == pytest.approx(value, abs=5e-5)
    assert answer.json["objective"] * (1 - 1e-6) <= answer.json["lower_bound"] <= answer.json["objective"]
    assert sizes is None or answer.json["sizes"] == sizes


RUSPINI = Path(__file__).parents[3] / "shared" / "data" / "ruspini.csv"


@pytest.mark.skipif(not RUSPINI.exists(), reason="the Ruspini data are not at hand")
def test_uniform_weights_are_k_means(certmix):
    """With unit variance and equal weights f = SSE/2 + n log K: the published k-means optimum is proved."""
    answer = certmix(f"solve {RUSPINI} -k 4 --weights uniform --variance 1 --engine dual --json --quiet")
    assert answer.code == 0
    assert answer.json["objective"] == pytest.approx(12881.0512361466 / 2 + 75 * math.log(4), rel=1e-12)


def test_built_in_sets_bring_covariance_and_components(certmix):
    """A built-in set needs no -k and no covariance, and its classes are the column `target`."""
    answer = certmix("solve iris1d:n=45 --label-column target --json")
    assert answer.code in (0, 3)
    assert answer.json["n_components"] == 3
    assert answer.json["warnings"] == []
    assert answer.json["component_names"] == ["setosa", "versicolor", "virginica"]
    assert answer.json["sizes"] == [15, 15, 15]


def test_the_names_of_the_built_in_sets_are_those_of_the_module():
    """The command line knows the built-in names without importing the module; the two lists agree."""
    from certmix import datasets
    from certmix.cli.request import BUILT_IN

    assert BUILT_IN == datasets.NAMES


def test_npy_files_and_numbered_samples(certmix):
    """Samples of an array are numbered from 0."""
    answer = certmix("solve data.npy -k 2 --variance 0.1 --engine enumerate --json")
    assert answer.json["names"] == ["0", "1", "2", "3", "4"]
    assert sorted(answer.json["sizes"]) == [2, 3]


def test_transposed_file(certmix, files):
    """Features in rows, samples in columns."""
    (files / "genes.tsv").write_text("gene\tS1\tS2\tS3\nA\t0\t0.1\t5\nB\t1\t1.1\t4\n")
    answer = certmix("solve genes.tsv -k 2 --transpose --variance 0.1 --engine enumerate --json")
    assert answer.json["names"] == ["S1", "S2", "S3"]
    assert answer.json["labels"][0] == answer.json["labels"][1] != answer.json["labels"][2]


def test_a_run_stopped_at_a_limit_is_exit_code_3(certmix):
    """Ten nodes do not close iris with five components: exit code 3, a clustering and a bound below it."""
    answer = certmix("solve iris -k 5 --engine interval --node-limit 10 --json --quiet")
    assert answer.code == 3
    assert answer.json["status"] == "feasible"
    assert answer.json["termination"] == "node limit"
    assert answer.json["lower_bound"] < answer.json["objective"] - 1
    assert len(answer.json["labels"]) == 150
