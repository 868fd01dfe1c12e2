"""Find the running cluster that a study joins: named by RAY_ADDRESS, or last started here by `ray start`.

A study sends the cluster's token to that address. So no other user may choose the address: a file in the shared
temporary folder counts only if no other user can have written it.
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

ADDRESS_VARIABLE = "RAY_ADDRESS"
ADVICE = (
    f"name a head node in {ADDRESS_VARIABLE} as HOST:PORT, such as 10.0.0.1:6379, or set it to local for a "
    "Ray of the study's own"
)
"""Advice for an address that is wrong or not trusted."""


def running_cluster() -> str | None:
    """Return the address of the cluster to join, as HOST:PORT; None if none is named.

    Ray's own search for "auto" would also read addresses from the command line of any process, of any user. It would
    find the private cluster of another study on this machine, and end when that study ends. Raises `UserError` for a
    wrong address, or if another user may have written the file with the address.
    """
    source, text = ADDRESS_VARIABLE, os.environ.get(ADDRESS_VARIABLE) or None
    if text in (None, "auto"):
        file = address_file()
        written = _written(file)
        if written is None and text is None:
            return None
        source, text = (ADDRESS_VARIABLE, text) if written is None else (str(file), written)
    try:
        if text == "auto":
            raise ValueError
        address = bootstrap_address(text)
        if address is not None:
            int(address.rpartition(":")[2])
    except ValueError:
        raise UserError(f"{source} is {shown(text)}, and no Ray cluster is there; {ADVICE}") from None
    return address


def listens(address: str) -> bool:
    """Return whether a process accepts connections at the address. Nothing is sent. Ray would try for two minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def _written(file: Path) -> str | None:
    """Return the address that `ray start` wrote into the file (`ray stop` removes it); None if there is no file.

    All users may write in Ray's folder, so a file is trusted or not by who owns it. `UserError` if the file or its
    folder is not owned by this user or root, or if other users may write into the file.
    """
    try:
        folder = file.parent.lstat()
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _untrusted_file(file, error.strerror or "it cannot be read") from None
    with open(handle, encoding="utf-8", errors="replace") as opened:
        state = os.fstat(handle)
        if not (stat.S_ISREG(state.st_mode) and stat.S_ISDIR(folder.st_mode)):
            raise _untrusted_file(file, "it is no plain file in a folder")
        if not {state.st_uid, folder.st_uid} <= {0, os.getuid()}:
            raise _untrusted_file(file, "it, or its folder, belongs to somebody else")
        shared = state.st_mode & stat.S_IWGRP and not _is_private(state.st_gid, state.st_uid)
        if shared or state.st_mode & stat.S_IWOTH:
            raise _untrusted_file(file, "others may write into it")
        return opened.read(1000).strip()


def _is_private(group: int, user: int) -> bool:
    """Return whether only that user is in the group. Ubuntu and Fedora give each user such a group of the same name,
    and give the group write access to the user's files. Root has no such group."""
    try:
        owner, named = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    own = named.gr_name == owner.pw_name and owner.pw_gid == group
    return user != 0 and own and set(named.gr_mem) <= {owner.pw_name}


def _untrusted_file(file: Path, why: str) -> UserError:
    return UserError(f"{file} would name the Ray cluster to join, but it is not believed: {why}; {ADVICE}")
