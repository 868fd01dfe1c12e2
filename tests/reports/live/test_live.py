"""The live page and its server, without Ray: what it shows, what it refuses, and when it reckons anew."""

from __future__ import annotations

import dataclasses
import http.client
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from reports.facts.findings import Findings
from reports.facts.recipe_names import AS_IT_CAME
from reports.facts.results import Results
from reports.ledger import LEDGER, Curve, Curves, Ledger, Progress, StudyInfo, add_losses, is_fresh, trial_key
from reports.ledger import ledger as ledger_module
from reports.ledger.progress import with_curve
from reports.live import folder as folder_module
from reports.live import html, listen, serve
from reports.live.folder import Folder, ScoredRecipe, _best_first, signature_of
from reports.live.picture import loss_picture, marks
from reports.live.report_process import CachedReport, in_own_process
from reports.live.server import LiveServer
from tests.live_folder import DONE, RUNNING, empty_study, fail, running_study
from tests.live_pictures import served
from tests.reports.facts.test_answer import LIMITED
from tests.synthetic_results import add_finals, make_results, with_goals
from trainables.errors import UserError

NOTHING = {"answer": "", "verdicts": ""}
"""What is reckoned from the whole ledger, before it is."""
NASTY = "<script>alert(1)</script>\" onload='x' &"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Read only. However busy this machine is, its study is no silent one."""
    folder = tmp_path_factory.mktemp("live") / "results"
    running_study(folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(folder_module, "SILENT_SECONDS", 1200.0)
        yield folder


@pytest.fixture(scope="module")
def server(results: Path) -> Iterator[LiveServer]:
    with served(results) as live:
        findings = {"finished": 27, "boards": [], "claims": [{"verdict": "open"}]}
        live.verdicts = CachedReport(lambda: json.dumps(findings), threading.Lock())
        live.report = CachedReport(lambda: "<!doctype html><title>report</title>", threading.Lock())
        yield live


def ask(
    server: LiveServer,
    path: str,
    method: str = "GET",
    host: str | None = "localhost:1234",
    *more: tuple[str, str],
    timeout: float = 20,
) -> tuple[int, dict[str, str], str]:
    """The status, the headers in small letters and the body. `host` None: none is sent."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=timeout)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in ((("Host", host),) if host is not None else ()) + more:
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content


class TestServer:
    def test_it_listens_on_loopback_only(self, server: LiveServer) -> None:
        assert server.server_address[0] == "127.0.0.1"
        assert server.address == f"http://127.0.0.1:{server.server_address[1]}/"

    def test_the_pages_it_has(self, server: LiveServer) -> None:
        for path, kind in (
            ("/", "text/html"),
            ("/state.json", "application/json"),
            ("/live.js", "text/javascript"),
            ("/live.css", "text/css"),
            ("/report", "text/html"),
        ):
            status, headers, content = ask(server, path)
            assert (status, headers["content-type"].partition(";")[0]) == (200, kind)
            assert content
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"

    def test_nothing_else_of_the_file_system(self, server: LiveServer) -> None:
        for path in (
            "/study.json", "/ledger", "/../study.json", "/..%2fstudy.json", "//etc/passwd", "/etc/passwd", "/live.py",
            "/report/", "/page.html", "/state.json/..", "/%00", "http://evil.example/",
        ):  # fmt: skip
            status, _, content = ask(server, path)
            assert (status, content) == (404, "There is no such page.\n"), path

    def test_only_get(self, server: LiveServer) -> None:
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "HEAD"):
            status, headers, _ = ask(server, "/", method)
            assert (status, headers["allow"]) == (405, "GET"), method

    def test_names_of_this_machine_are_served_and_foreign_ones_that_lead_here_are_not(self, server: LiveServer) -> None:
        for host in ("localhost", "127.0.0.1", "127.0.0.1:8080", "LOCALHOST:80"):
            assert ask(server, "/state.json", host=host)[0] == 200, host
        for foreign in (
            "evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil",
            "", "0.0.0.0", None,
        ):  # fmt: skip
            for path in ("/", "/state.json", "/report"):
                status, _, content = ask(server, path, host=foreign)
                assert (status, "scl_ablation" in content) == (403, False), (foreign, path)
        assert ask(server, "/", "GET", "localhost", ("Host", "evil.example"))[0] == 403  # two names

    def test_another_site_may_only_link_to_the_page(self, server: LiveServer) -> None:
        for path in ("/state.json", "/report"):
            status, _, content = ask(server, path, "GET", "localhost", ("Sec-Fetch-Site", "cross-site"))
            assert (status, "scl_ablation" in content) == (403, False)
            for own in ("same-origin", "none"):
                assert ask(server, path, "GET", "localhost", ("Sec-Fetch-Site", own))[0] == 200
        assert ask(server, "/", "GET", "localhost", ("Sec-Fetch-Site", "cross-site"))[0] == 200

    def test_the_page_may_run_its_own_script_only(self, server: LiveServer) -> None:
        _, headers, content = ask(server, "/")
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "style=" not in content
        assert "<style" not in content
        assert content.count("<script") == 1  # the one that is a file
        assert "access-control-allow-origin" not in headers

    def test_a_report_that_cannot_be_made_says_why(self, results: Path) -> None:
        def broken() -> str:
            raise RuntimeError("no trial is finished yet")

        with served(results) as server:
            server.report = CachedReport(broken, threading.Lock())
            status, _, content = ask(server, "/report")
        assert status == 503
        assert "no trial is finished yet" in content

    def test_a_folder_that_is_no_studys_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="not a results folder"):
            listen(tmp_path)

    def test_the_address_is_printed_when_it_answers(self, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
        threading.Thread(target=serve, args=(results, print), daemon=True).start()
        printed, deadline = "", time.monotonic() + 20
        while "http" not in printed and time.monotonic() < deadline:
            printed = capsys.readouterr().out
            time.sleep(0.02)
        connection = http.client.HTTPConnection(printed.split("/")[2], timeout=20)
        connection.request("GET", "/live.css")
        assert connection.getresponse().status == 200


class TestWhatIsShown:
    def test_a_running_study(self, server: LiveServer) -> None:
        state = json.loads(ask(server, "/state.json")[2])
        shown = state["parts"]
        assert state["title"] == f"{3 * DONE}/{3 * DONE + 8} scl_ablation"
        assert f"{3 * DONE} finished, {RUNNING} running, 6 queued, 1 failed, 3 stopped early" in shown["counts"]
        assert "about 7 min left" in shown["state"]
        assert "<b>finals</b>" in shown["state"]
        assert "then, about 3 min" in shown["state"]
        assert "recipes are tried on a development score" in shown["state"]
        assert "60 of 90" in shown["running"]
        assert shown["losses"].count("<polyline") == DONE + RUNNING
        assert "CUDA out of memory; lower optimisation.batch_size" in shown["failed"]
        assert "no word vectors" in shown["failed"] or "not run" not in shown["failed"]
        assert shown["queued"].count("<tr ") == 7
        assert "Provisional" in shown["verdicts"]
        assert "SBERT baseline" in shown["best"] or "SCL" in shown["best"]

    def test_the_page_without_its_script_says_the_same(self, server: LiveServer) -> None:
        shown = json.loads(ask(server, "/state.json")[2])["parts"]
        content = ask(server, "/")[2]
        for name in ("counts", "failed", "queued", "best", "verdicts"):
            assert shown[name] in content, name
        assert "$" not in content  # every place is filled

    def test_the_finals_have_rows_of_their_own(self, tmp_path: Path) -> None:
        make_results(tmp_path, rows=["SBERT baseline"], explored=4, seeds=(0,))
        assert Folder(tmp_path).view().finals == ()
        assert "finals" not in html.parts_of(Folder(tmp_path).view(), {})["best"]
        add_finals(tmp_path, (3.0, 1.0))
        view = Folder(tmp_path).view()
        scores = [best.scores[0] for best in view.finals]
        assert scores == sorted(scores, reverse=True)
        (best,) = [each for each in view.finals if each.role == "base"]
        assert best.seeds == 5
        assert [each.name for each in view.finals if each.role == "encoder"] == [AS_IT_CAME]
        shown = html.parts_of(view, {})["best"]
        assert shown.count(">finals<") == len(view.finals)
        assert "under new random seeds" in shown

    def test_the_best_so_far_is_beside_what_it_is_compared_with(self, tmp_path: Path) -> None:
        make_results(tmp_path, rows=["SBERT baseline"], explored=2, seeds=(0,))
        view = Folder(tmp_path).view()
        base = ScoredRecipe("base", "", (50.0,), 1, 0.0, role="base")
        encoder = ScoredRecipe("untrained", "", (42.0,), 1, 0.0, role="encoder")
        on_a_part = ScoredRecipe("#1 <x>", "", (48.0,), 1, 0.0, share=0.125)
        known = base, encoder, on_a_part, dataclasses.replace(base, scores=(45.0,), share=0.125)
        shown = html.so_far(dataclasses.replace(view, best=known))
        assert "Best so far on 1/8 of the data: <b>#1 &lt;x&gt;</b>" in shown
        assert "48.00 (base settings 45.00, original encoder 42.00)" in shown
        shown = html.so_far(dataclasses.replace(view, best=(ScoredRecipe("#2", "", (51.0,), 1, 0.0), *known)))
        assert "Best so far: <b>#2</b>" in shown
        assert "51.00 (base settings 50.00, original encoder 42.00)" in shown
        assert html.so_far(dataclasses.replace(view, best=(base, encoder))) == ""
        shown = html.so_far(dataclasses.replace(view, best=(base, ScoredRecipe("#3", "", (49.0,), 1, 0.0))))
        assert "No recipe is above the base settings so far; the best: <b>#3</b>" in shown

    def test_those_on_more_of_the_data_come_first(self) -> None:
        whole, part = (ScoredRecipe(name, "", (score,), 1, 0.0) for name, score in (("whole", 50.0), ("part", 60.0)))
        assert _best_first([(0.125, (60.0,), part), (0.5, (50.0,), whole)]) == [whole, part]

    def test_of_several_scores_finals_go_by_their_mean(self, tmp_path: Path) -> None:
        make_results(tmp_path, rows=["SBERT baseline"], explored=2, seeds=(0,))
        info = add_finals(tmp_path, (3.0, 1.0), seeds=1)
        dataclasses.replace(info, goals=["sts", "transfer"]).save(tmp_path)
        points = dict(zip(info.finals.finalists, [(70.0, 50.0), (60.0, 80.0)], strict=True))
        for record in Ledger(tmp_path / LEDGER).read():
            if is_fresh(record.seed):
                Ledger(tmp_path / LEDGER).write(with_goals(record, *points.get(record.recipe_hash, (40.0, 40.0))))
        assert [best.scores for best in Folder(tmp_path).view().finals][:2] == [(60.0, 80.0), (70.0, 50.0)]

    def test_nothing_has_begun(self, tmp_path: Path) -> None:
        empty_study(tmp_path)
        view = Folder(tmp_path).view()
        content = html.page(view, html.verdicts(None, "", view.finished, view.runs))
        assert "No trial has begun yet" in content
        assert not any(html.parts_of(view, {})[name] for name in ("losses", "failed", "queued"))  # nothing to show
        assert "0 finished, 0 failed" in content

    def test_under_a_limit_in_minutes_time_is_the_measure(self, tmp_path: Path) -> None:
        """How many trials it has room for is not known."""
        progress = running_study(tmp_path, seeds=(0,))
        info = dataclasses.replace(StudyInfo.load(tmp_path), limits={"minutes": 40.0}, search="optuna")
        info.save(tmp_path)
        parts = html.parts_of(view := Folder(tmp_path).view(), {})
        assert "queued" not in parts["counts"]
        assert "/" not in html.title(view)
        passed = re.search(r'value="(\d+)" max="(\d+)" aria-label="seconds that passed"', parts["state"])
        assert int(passed[2]) - int(passed[1]) == progress.seconds_left
        assert parts["queued-count"] == "as many as the limit has time for"
        dataclasses.replace(progress, ended=True).save(tmp_path)
        assert "the same command goes on" in html.parts_of(Folder(tmp_path).view(), {})["state"]  # after a ctrl-C
        dataclasses.replace(info, limited=LIMITED).save(tmp_path)
        parts = html.parts_of(Folder(tmp_path).view(), {})
        assert "A larger --limit goes on" in parts["state"]
        assert not parts["queued"]

    def test_everything_from_outside_is_escaped(self, tmp_path: Path) -> None:
        progress = running_study(tmp_path, seeds=(0,))
        nasty = dataclasses.replace(progress.running[0], name=NASTY, changes=NASTY)
        waiting = dataclasses.replace(progress.queued[0], name=NASTY, changes=NASTY)
        progress = dataclasses.replace(progress, running=[nasty], queued=[waiting], estimate=NASTY)
        dataclasses.replace(progress, failed_starts=NASTY).save(tmp_path)
        info = StudyInfo.load(tmp_path)
        hashes = {**info.row_hashes, NASTY: info.row_hashes["SBERT baseline"]}
        missing = {NASTY: NASTY}
        dataclasses.replace(
            info, space=NASTY, scale=NASTY, missing=missing, requests=[{"space": NASTY}], row_hashes=hashes
        ).save(tmp_path)
        fail(tmp_path, trial_key("ab12", 0), NASTY, NASTY)
        view, number = Folder(tmp_path).view(), cast(Any, NASTY)
        running = [dataclasses.replace(trial, rung=number) for trial in view.progress.running]
        progress = dataclasses.replace(view.progress, at_once=number, running=running)
        view = dataclasses.replace(
            view, progress=progress, problems=(NASTY,), folder=Path(NASTY), set_aside={NASTY: NASTY}
        )
        row = {"name": NASTY, "seeds": [0], "mean": 1.0, "gain": 1.0, "low": None, "high": None, "verdict": NASTY,
               "flags": [NASTY]}  # fmt: skip
        flag = {"guard": NASTY, "sentence": "<script>alert(1)</script>"}
        board = {"figure": NASTY, "baseline": NASTY, "rows": [row], "flags": [flag]}
        findings = json.dumps(
            {
                "finished": 1,
                "boards": [board],
                "claims": [{"verdict": NASTY}],
                "answer": [[NASTY, NASTY, False], [NASTY, NASTY, True]],
            }
        )
        judged = html.verdicts(findings, NASTY, view.finished, view.runs)
        for content in (html.page(view, judged), *json.loads(html.state(view, judged))["parts"].values()):
            assert "<script>alert" not in content
            assert "onload='x'" not in content
            assert "' &" not in content  # the quotation mark would end an attribute
        assert html.page(view, judged).count("&lt;script&gt;alert(1)") > 15  # so it was there

    def test_a_study_that_is_silent_or_has_ended_says_so(self, tmp_path: Path) -> None:
        progress = running_study(tmp_path, seeds=(0,))
        assert Folder(tmp_path).view().runs
        dataclasses.replace(progress, written_at=progress.began_at).save(tmp_path)
        view = Folder(tmp_path).view()
        assert not view.runs
        assert "Nothing was heard of the study for 24 min" in html.parts_of(view, {})["state"]
        dataclasses.replace(progress, ended=True).save(tmp_path)
        view = Folder(tmp_path).view()
        assert not view.runs
        assert "ended" in html.parts_of(view, {})["state"]

    def test_a_broken_file_is_told_and_the_rest_is_shown(self, tmp_path: Path) -> None:
        running_study(tmp_path, seeds=(0,))
        path, folder = tmp_path / "progress.json", Folder(tmp_path)
        whole = json.loads(path.read_text())
        first, *others = whole["running"]
        wrong: list[tuple[str, object]] = [
            ("at_once", NASTY), ("at_once", True), ("counts", {"running": NASTY}), ("counts", [1]), ("estimate", None),
            ("began_at", "then"), ("seconds_left", "10"), ("seconds_left", float("inf")), ("ended", 1),
            ("queued", None),
        ]  # fmt: skip
        of_a_trial = [("seed", NASTY), ("seed", 10**30), ("step", "1"), ("since", ""), ("loss", True)]
        wrong += [("running", [{**first, name: value}, *others]) for name, value in of_a_trial]
        broken = ["{", "[]", '{"written_at": "then", "began_at": "", "counts": {}}', "{}"]
        for content in [*broken, *(json.dumps({**whole, name: value}) for name, value in wrong)]:
            path.write_text(content)
            view = folder.view()
            assert (view.progress, view.finished) == (None, DONE), content[:200]
            (problem,) = view.problems
            assert "progress.json" in problem
            assert "<script>alert" not in html.page(view, NOTHING)

    def test_reading_changes_nothing(self, tmp_path: Path) -> None:
        running_study(tmp_path, seeds=(0,))
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        with served(tmp_path) as server:
            server.verdicts = CachedReport(lambda: '{"finished": 1, "boards": [], "claims": {}}', threading.Lock())
            ask(server, "/")
            ask(server, "/state.json")
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_what_did_not_change_is_neither_read_nor_reckoned_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running_study(tmp_path, seeds=(0, 1))
    path = next((tmp_path / LEDGER).glob("*.json"))
    content = path.read_text()
    path.unlink()
    read: list[Path] = []
    ranked: list[object] = []
    real_read, real_rank = ledger_module.read_record, folder_module.ranking
    monkeypatch.setattr(ledger_module, "read_record", lambda path: (read.append(path), real_read(path))[1])
    monkeypatch.setattr(folder_module, "ranking", lambda results: (ranked.append(results), real_rank(results))[1])
    folder = Folder(tmp_path)
    first = folder.view()
    assert len(read) == len(list((tmp_path / LEDGER).glob("*.json")))
    read.clear()
    ranked.clear()
    assert folder.view().best == first.best
    assert (read, ranked) == ([], [])
    path.write_text(content)
    folder.view()
    assert read == [path]
    path.write_text(content.replace('"seed": ', '"seed":  '))  # another size
    folder.view()
    assert read == [path, path]
    path.unlink()
    assert folder.view().names == first.names
    assert read == [path, path]


@pytest.mark.slow
def test_the_page_of_a_running_study_has_the_findings_of_its_report(tmp_path: Path) -> None:
    running_study(tmp_path, seeds=(0, 1))
    output = in_own_process(["reports.live.slow_parts", str(tmp_path)])
    printed, facts = json.loads(output), json.loads(output)
    findings = Findings.of(Results.load(tmp_path))
    answer = facts.pop("answer")
    for flag in (flag for board in facts["boards"] for flag in board["flags"]):
        del flag["sentence"]
    assert facts == json.loads(json.dumps(findings.as_json(), allow_nan=False))
    board, shown_board = findings.boards[0], printed["boards"][0]
    assert printed["finished"] == 2 * DONE
    assert (shown_board["figure"], shown_board["baseline"]) == (board.quantity.name, "SBERT baseline")
    measured = [standing for standing in board.standings if standing.sample is not None]
    assert [(row["name"], row["verdict"]) for row in shown_board["rows"]] == [
        (item.name, item.verdict) for item in measured
    ]
    assert len(measured) == DONE
    assert len(printed["claims"]) == len(findings.claims) > 0
    shown = html.verdicts(output, "", 2 * DONE + 1, True)
    assert [head for head, _, _ in answer] == re.findall("<dt>(.*?)</dt>", shown["answer"])
    content = shown["verdicts"]
    assert "There are 19 by now, and they are being computed." in content
    assert shown_board["rows"][0]["name"] in content


def test_the_command_that_goes_on_is_shown_once_nothing_runs() -> None:
    findings = json.dumps(
        {"answer": [["Wait", "1 of 9", False], ["Go on", "python", True]], "finished": 1, "claims": [], "boards": []}
    )
    shown = [html.verdicts(findings, "", 1, runs) for runs in (True, False)]
    assert [parts["verdicts"] for parts in shown] == ["", ""]  # it has no row to judge
    heads = [re.findall("<dt>(.*?)</dt>", parts["answer"]) for parts in shown]
    assert heads == [["Wait"], ["Wait", "Go on"]]


class TestRebuilt:
    def test_only_when_the_ledger_changed_and_never_twice_at_once(self) -> None:
        made, at_once, most = [], [], []

        def make() -> str:
            at_once.append(1)
            most.append(len(at_once))
            time.sleep(0.05)
            at_once.pop()
            made.append(1)
            return str(len(made))

        lock = threading.Lock()
        report, verdicts = CachedReport(make, lock), CachedReport(make, lock)
        threads = [threading.Thread(target=cached.get, args=((),)) for cached in (report, verdicts) * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 2  # each once
        assert max(most) == 1
        assert report.get((("study.json", 1, 1),)) == "3"

    def test_the_last_one_is_shown_until_the_next_is_there(self) -> None:
        go, made = threading.Event(), []

        def make() -> str:
            made.append(1)
            assert len(made) == 1 or go.wait(20)
            return str(len(made))

        report = CachedReport(make, threading.Lock())
        assert report.get(()) == "1"
        changed = (("study.json", 1, 1),)
        assert report.latest(changed) == ("1", "")
        assert report.latest(changed) == ("1", "")
        go.set()
        deadline = time.monotonic() + 20
        while report.latest(changed)[0] != "2":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert len(made) == 2

    def test_any_error_is_told_and_the_old_one_is_not_shown_as_the_new(self) -> None:
        answers = iter(["first", FileNotFoundError("report.html is gone")])

        def make() -> str:
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        report = CachedReport(make, threading.Lock())
        assert report.get(()) == "first"
        changed = (("study.json", 1, 1),)
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"report.html is gone"):
                report.get(changed)
        assert report.latest(changed) == ("first", "report.html is gone")

    @pytest.mark.slow
    def test_a_process_that_fails_tells_its_last_line(self, tmp_path: Path) -> None:
        with pytest.raises(RuntimeError, match="does not exist"):
            in_own_process(["reports", str(tmp_path / "nowhere")])


class TestProgress:
    def test_it_is_read_as_it_was_written(self, tmp_path: Path) -> None:
        assert Progress.load(tmp_path) is None
        progress = running_study(tmp_path, seeds=(0,))
        assert Progress.load(tmp_path) == progress
        assert progress.running

    def test_the_curve_of_a_trial_that_was_resumed(self, tmp_path: Path) -> None:
        add_losses(tmp_path, "aa-0", 100, [(10, 0.3), (20, 0.15), (30, 0.1)])
        add_losses(tmp_path, "aa-0", 100, [(20, 9.0), (30, float("nan"))])
        with open(tmp_path / "progress" / "aa-0.jsonl", "a") as file:
            file.write('{"step": 40, "st')  # a line that is being written
        curves = Curves(tmp_path).all()
        assert curves["aa-0"].points == [(10, 0.3), (20, 9.0)]
        running = with_curve(running_study(tmp_path, seeds=(0,)).running[0], curves["aa-0"])
        assert (running.step, running.steps, running.loss) == (20, 100, 9.0)

    def test_a_signature_changes_with_the_ledger_only(self, tmp_path: Path) -> None:
        progress = running_study(tmp_path, seeds=(0,))
        before = signature_of(tmp_path)
        progress.save(tmp_path)
        add_losses(tmp_path, "aa-0", 2, [(1, 1.0)])
        assert signature_of(tmp_path) == before
        fail(tmp_path, trial_key("ab12", 0), "row", "reason")
        assert signature_of(tmp_path) != before


def test_marks_of_an_axis_are_round_and_few() -> None:
    assert marks(0, 90) == [0, 20, 40, 60, 80]
    assert marks(1.93, 4.4) == [2, 2.5, 3, 3.5, 4]
    for low, high in ((0, 1), (-3, 7), (0.001, 0.0011), (0, 12345)):
        assert 2 <= len(marks(low, high)) <= 7


def test_a_flat_curve_of_one_point_is_drawn() -> None:
    assert "nan" not in loss_picture({"a": Curve(10, [(1, 0.0)])}, [], {"a": "c0"})
    assert loss_picture({}, [], {}) == ""
