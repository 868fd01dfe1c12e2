"""Which cluster a study joins, and that its token goes to no address that somebody else chose."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from study.engine.address import running_cluster
from tests.conftest import slow_case
from trainables.errors import UserError

ROOT = Path(__file__).resolve().parents[3]
ADDRESS = "10.1.2.3:6379"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As `ray start` leaves it: in a folder that it opens to everybody."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    folder = tmp_path / "ray"
    folder.mkdir()
    folder.chmod(0o777)
    path = folder / "ray_current_cluster"
    path.write_text(f"{ADDRESS}\n")
    path.chmod(0o644)
    return path


def belongs_to_another(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.getuid() == 0:
        os.chown(path, 12345, 12345, follow_symlinks=False)
    else:
        other = path.lstat().st_uid + 1
        monkeypatch.setattr(os, "getuid", lambda: other)


def share_with_a_group(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.chmod(0o664)
    monkeypatch.setattr("grp.getgrgid", lambda gid: SimpleNamespace(gr_name="staff", gr_mem=[]))


def link_to(path: Path) -> None:
    kept = path.rename(path.with_name(f"{path.name}-kept"))
    path.symlink_to(kept)


def pipe_at(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("named", [None, "auto", ""])
def test_the_cluster_that_this_user_started_is_joined(
    file: Path, named: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if named is not None:
        monkeypatch.setenv("RAY_ADDRESS", named)
    assert running_cluster() == ADDRESS


def test_roots_file_is_believed_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make a file of root's")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert running_cluster() == ADDRESS


def test_without_a_file_there_is_none(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.unlink()
    assert running_cluster() is None
    file.parent.rmdir()
    assert running_cluster() is None
    file.parent.write_text("")
    assert running_cluster() is None


@pytest.mark.parametrize(
    ("group", "believed"),
    [(("me", []), True), (("me", ["me"]), True), (("me", ["other"]), False), (("staff", []), False)],
)
def test_a_users_own_group_is_nobody_else(
    file: Path, group: tuple[str, list[str]], believed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a umask of 002, as Ubuntu sets it."""
    mine = os.getuid() or 12345
    if os.getuid() == 0:
        for path in (file, file.parent):
            os.chown(path, mine, mine)
        monkeypatch.setattr(os, "getuid", lambda: mine)
    number = file.stat().st_gid
    monkeypatch.setattr("pwd.getpwuid", lambda user: SimpleNamespace(pw_name="me", pw_gid=number))
    monkeypatch.setattr("grp.getgrgid", lambda gid: SimpleNamespace(gr_name=group[0], gr_mem=group[1]))
    file.chmod(0o664)
    if believed:
        assert running_cluster() == ADDRESS
    else:
        with pytest.raises(UserError, match="others may write into it"):
            running_cluster()
    file.chmod(0o666)
    with pytest.raises(UserError, match="others may write into it"):
        running_cluster()


UNTRUSTED: dict[str, tuple[Callable[[Path, pytest.MonkeyPatch], object], str]] = {
    "of another user": (belongs_to_another, "belongs to somebody else"),
    "in another user's folder": (
        lambda file, patch: belongs_to_another(file.parent, patch),
        "belongs to somebody else",
    ),
    "that a group may write": (share_with_a_group, "others may write into it"),
    "that all may write": (lambda file, patch: file.chmod(0o646), "others may write into it"),
    "behind a link": (lambda file, patch: link_to(file), "symbolic links"),
    "in a folder behind a link": (lambda file, patch: link_to(file.parent), "no plain file in a folder"),
    "that is a pipe": (lambda file, patch: pipe_at(file), "no plain file in a folder"),
}


@pytest.mark.parametrize("kind", UNTRUSTED)
def test_a_file_that_somebody_else_may_have_written_is_not_believed(
    file: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil, why = UNTRUSTED[kind]
    spoil(file, monkeypatch)
    with pytest.raises(UserError, match=f"ray_current_cluster would name .* not believed: .*{why}.*; name a head node"):
        running_cluster()
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.9:6379")
    assert running_cluster() == "10.0.0.9:6379"
    monkeypatch.setenv("RAY_ADDRESS", "local")
    assert running_cluster() is None


@pytest.mark.parametrize("text", ["auto", "", "somewhere", "\0", "[", "ray://somewhere:10001"])
def test_a_file_that_holds_no_address_is_one_sentence(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(UserError, match=rf"{re.escape(str(file))} is .*, and no Ray cluster is there"):
        running_cluster()


def test_auto_asks_no_process(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray would take any process's word for it, whoever started that."""
    file.unlink()
    stranger = subprocess.Popen(
        [sys.executable, "-c", "input()", "gcs_server", "raylet", f"--gcs-address={ADDRESS}"], stdin=subprocess.PIPE
    )
    try:
        monkeypatch.setenv("RAY_ADDRESS", "auto")
        with pytest.raises(UserError, match="RAY_ADDRESS is 'auto', and no Ray cluster is there"):
            running_cluster()
    finally:
        stranger.kill()
        stranger.communicate()


@pytest.fixture
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """A port, and what came to it."""
    received: list[bytes] = []
    server = socket.create_server(("", 0))

    def listen() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    received.append(connection.recv(100_000))
                except OSError:
                    received.append(b"")

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    yield server.getsockname()[1], received
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(10)


@pytest.mark.parametrize("named", ["", slow_case("auto")])
@pytest.mark.slow
def test_a_strangers_listener_hears_nothing(file: Path, named: str, listener: tuple[int, list[bytes]]) -> None:
    port, received = listener
    file.write_text(f"127.0.0.1:{port}")
    file.chmod(0o666)
    command = [sys.executable, "study/run.py", "--space", "scl_tau", "--scale", "laptop", "--dry-run"]
    secret = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a-token-that-nobody-may-hear-0123456789abcdef"}
    environment = {**os.environ, **secret, "RAY_ADDRESS": named}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, received) == (2, [])
    assert re.fullmatch(r"error: .*ray_current_cluster .* is not believed: others may write into it; .*\n", done.stderr)
