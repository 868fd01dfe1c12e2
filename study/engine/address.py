"""Which running cluster a study joins: the one that RAY_ADDRESS names, or the last that `ray start` began here.

A study sends the cluster's token to the address that it joins. So nobody else may choose that address: what a file in
the shared temporary folder says counts only where no other user can have written it.
"""

from __future__ import annotations

import grp
import os
import pwd
import socket
import stat
from pathlib import Path

from study.engine.ray_internals import address_file, bootstrap_address
from trainables.errors import UserError, shown

NAMED = "RAY_ADDRESS"
INSTEAD = (
    f"name a head node in {NAMED} as HOST:PORT, such as 10.0.0.1:6379, or set it to local for a Ray of the study's own"
)
"""What to do about an address that is none, or that is not believed."""


def running_cluster() -> str | None:
    """The address of the cluster to join, as HOST:PORT; None where none is named.

    Ray's own search for "auto" would also take the address out of any process's command line, whoever started it, and
    find the private cluster of another study on this machine, and die with it. `UserError` for an address that is none,
    and for a file of somebody else's.
    """
    source, text = NAMED, os.environ.get(NAMED) or None
    if text in (None, "auto"):
        file = address_file()
        written = _written(file)
        if written is None and text is None:
            return None
        source, text = (NAMED, text) if written is None else (str(file), written)
    try:
        if text == "auto":
            raise ValueError
        address = bootstrap_address(text)
        if address is not None:
            int(address.rpartition(":")[2])
    except ValueError:
        raise UserError(f"{source} is {shown(text)}, and no Ray cluster is there; {INSTEAD}") from None
    return address


def listens(address: str) -> bool:
    """Whether anything listens there: Ray itself would try for two minutes. Nothing is sent."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def _written(file: Path) -> str | None:
    """What `ray start` wrote into the file, and `ray stop` would remove; None where there is none.

    Ray opens the folder to everybody, so a file there is believed for its owner. `UserError` where this user or root do
    not own both, or others may write into the file.
    """
    try:
        folder = file.parent.lstat()
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _not_believed(file, error.strerror or "it cannot be read") from None
    with open(handle, encoding="utf-8", errors="replace") as opened:
        state = os.fstat(handle)
        if not (stat.S_ISREG(state.st_mode) and stat.S_ISDIR(folder.st_mode)):
            raise _not_believed(file, "it is no plain file in a folder")
        if not {state.st_uid, folder.st_uid} <= {0, os.getuid()}:
            raise _not_believed(file, "it, or its folder, belongs to somebody else")
        shared = state.st_mode & stat.S_IWGRP and not _is_private(state.st_gid, state.st_uid)
        if shared or state.st_mode & stat.S_IWOTH:
            raise _not_believed(file, "others may write into it")
        return opened.read(1000).strip()


def _is_private(group: int, user: int) -> bool:
    """Whether the group is that user's alone: Ubuntu and Fedora give each user one of the same name, and let it write
    whatever the user writes. Root has no such group."""
    try:
        owner, named = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    own = named.gr_name == owner.pw_name and owner.pw_gid == group
    return user != 0 and own and set(named.gr_mem) <= {owner.pw_name}


def _not_believed(file: Path, why: str) -> UserError:
    return UserError(f"{file} would name the Ray cluster to join, but it is not believed: {why}; {INSTEAD}")
