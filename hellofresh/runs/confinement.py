"""Run an untrusted program by bubblewrap in its own root, where it sees system libraries, itself and the endpoint.

Nothing else is visible: no home, workspace, submissions, processes, devices, sockets or network. It can write only to
`/tmp` and `/dev/shm`, which are in memory and temporary. A seccomp filter refuses what namespaces do not isolate:
keyrings, sockets of other families (such as vsock, to the machine's host), anonymous memory files, and tracing, by
which a program could make the namespace's first process outlive its limits. No file of this machine is open in it: the
owner of an open file can change its mode, even that of `/dev/null`.
Sources: bubblewrap's manual, `bwrap(1)`; `seccomp(2)`; `path_resolution(7)`.
"""

from __future__ import annotations

import asyncio
import errno
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hellofresh.core.errors import RunError, UsageError
from hellofresh.core.texts import without_hidden
from hellofresh.runs.regimes.endpoint import relay
from hellofresh.runs.regimes.endpoint.server import EndpointServer
from hellofresh.tasks.outputs import Choice, Status

_HOME, _RELAY, _SOCKET = "/tmp/program", "/run/relay.py", "/run/endpoint"  # noqa: S108 - within the confinement
_SYSTEM = ("/usr", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ssl/certs")
"""System folders that programs need, without user data."""
_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")
_DEVICES = ("full", "null", "random", "tty", "urandom", "zero")
"""Devices of this machine that bubblewrap shows; read-only ones can be written to, but keep their mode and times."""
_POLL_S, _PIECE = 0.1, 1 << 20
_FAMILIES = (1, 2, 10, 16)
"""Families of sockets that namespaces isolate: Unix, IPv4, IPv6, netlink."""
_CALLS = {
    "x86_64": (0xC000003E, (41, 53), (29, 101, 248, 249, 250, 298, 304, 310, 311, 319, 321, 323, 425, 438, 447)),
    "aarch64": (0xC00000B7, (198, 199), (117, 194, 217, 218, 219, 241, 265, 270, 271, 279, 280, 282, 425, 438, 447)),
}
"""By machine: its number, calls that make sockets (socket, socketpair), and those that are refused (shmget, ptrace,
add_key, request_key, keyctl, perf_event_open, open_by_handle_at, process_vm_readv, process_vm_writev, memfd_create,
bpf, userfaultfd, io_uring_setup, pidfd_getfd, memfd_secret).
"""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Resource limits of a confined program.

    Attributes:
        seconds: wall time.
        processes: most processes and threads at once.
        memory: bytes, of each process and of all together; a twentieth of the machine's memory stays free.
        disk: bytes in `/tmp`, in `/dev/shm`, and of its output.
        connections: most connections to the endpoint at once.
    """

    seconds: float = 3600.0
    processes: int = 256
    memory: int = 8 << 30
    disk: int = 1 << 30
    connections: int = 256


def check_command(command: Sequence[str], hidden: Sequence[Path]) -> None:
    """Refuse a program that cannot be started or confined, or whose files would expose a hidden folder.

    Raises:
        UsageError: with the reason and what to install.
    """
    if not command or shutil.which(command[0]) is None:
        what = f"no such program: {command[0][:200]!r}" if command else "no program is named"
        raise UsageError(what, expected='such as --command "python agent.py"', code="no-program")
    for shown in (path.resolve() for path in (*_shown(_absolute(command)), *_interpreter(Path(sys.executable)))):
        inside = any(shown.is_relative_to(folder) for folder in hidden)
        if inside or any(folder.is_relative_to(shown) for folder in (*hidden, Path.home())):
            raise UsageError(
                f"{str(shown)[:200]!r} lies in a folder that the program must not read, or holds one",
                expected=f"a place of its own, apart from {', '.join(map(str, hidden))}",
                code="program-inside",
            )
    fix = "Install bubblewrap (apt install bubblewrap) and allow user namespaces, or replay on another machine."
    if shutil.which("bwrap") is None:
        what, expected = "a program cannot be confined here: bwrap is missing", "Linux with bubblewrap"
        raise UsageError(what, expected=expected, fix=fix, code="not-confined")
    if platform.machine() not in _CALLS:
        what = f"system calls of a program cannot be refused on {platform.machine()[:40]}"
        raise UsageError(what, expected=" or ".join(_CALLS), fix="Replay on another machine.", code="not-confined")
    with _refused_calls() as calls:
        words = [*_bwrap([], ProcessLimits(), calls.fileno()), "true"]
        probe = subprocess.run(words, capture_output=True, check=False, pass_fds=[calls.fileno()])  # noqa: S603 - no shell
    if probe.returncode:
        said = probe.stderr.decode(errors="replace").strip()[:200]
        raise UsageError(f"a program cannot be confined here ({said})", fix=fix, code="not-confined")


def _absolute(command: Sequence[str]) -> list[str]:
    """The command with full paths of the program and of files, so that it starts from any folder."""
    start = Path(shutil.which(command[0]) or command[0]).absolute()
    return [str(start), *(str(Path(word).absolute()) if is_path(word) else word for word in command[1:])]


def is_path(word: str) -> bool:
    """Whether a word of a command names an existing file, or a folder by a path with a slash."""
    return Path(word).is_file() or ("/" in word and Path(word).is_dir())


def _shown(command: Sequence[str]) -> Iterator[Path]:
    """Paths that the program sees besides the system: its interpreter, and files and folders in its command."""
    yield from _interpreter(Path(command[0]))
    yield from (Path(word) for word in command if is_path(word))


def _interpreter(program: Path) -> Iterator[Path]:
    """The folders of a Python: a virtual environment and its base installation."""
    if (program.parent.parent / "pyvenv.cfg").is_file():
        yield program.parent.parent
        program = program.with_name("python")
    real = program.resolve()
    if real.name.startswith("python") and real.parent.name == "bin" and not real.is_relative_to("/usr"):
        yield real.parent.parent


def _refused_calls() -> IO[bytes]:
    """An open file that holds the filter of system calls, in the kernel's form (`linux/filter.h`), for `--seccomp`."""
    machine, sockets, refused = _CALLS[platform.machine()]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    refuse, allow = 0x50000 | errno.ENOSYS, 0x7FFF0000
    # Operation, value, and the targets if true and if false; without a target, the next line.
    lines = [(load, 4, "", ""), (equal, machine, "", "refuse"), (load, 0, "", ""), (at_least, 1 << 30, "refuse", "")]
    lines += [(equal, call, "refuse", "") for call in refused] + [(equal, call, "family", "") for call in sockets]
    lines.append((give, allow, "", ""))
    places = {"": 0, "family": len(lines), "refuse": len(lines) + len(_FAMILIES) + 1}
    lines += [(load, 16, "", ""), *((equal, one, "allow", "") for one in _FAMILIES)]
    lines += [(give, refuse, "", ""), (give, allow, "", "")]
    places["allow"] = len(lines) - 1
    steps = (
        (code, *(max(places[name] - line - 1, 0) for name in ends), value)
        for line, (code, value, *ends) in enumerate(lines)
    )
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller
    file.write(b"".join(struct.pack("=HBBI", *step) for step in steps))
    file.seek(0)
    return file


def _bwrap(shown: Sequence[Path], limits: ProcessLimits, calls: int, *more: str) -> list[str]:
    """The bubblewrap command: an empty root, read-only parts of the system, shown paths, refused system calls.

    Args:
        shown: files and folders to show.
        limits: resource limits of a process.
        calls: file descriptor of `_refused_calls`.
        more: further words.
    """
    # By full path: the program's own folder comes first on its PATH.
    bwrap, nice, prlimit = (shutil.which(name) or f"/usr/bin/{name}" for name in ("bwrap", "nice", "prlimit"))
    words = [bwrap, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    words += ["--seccomp", str(calls), "--cap-drop", "ALL", "--hostname", "replay", "--proc", "/proc", "--dev", "/dev"]
    for folder in ("/tmp", "/dev/shm"):  # noqa: S108 - within the confinement
        words += ["--size", str(limits.disk), "--tmpfs", folder]
    words += [word for name in ("/home", "/run", "/var") for word in ("--tmpfs", name)]
    words += [word for name in _SYSTEM for word in ("--ro-bind-try", name, name)]
    for link in map(Path, _LINKS):
        words += ["--symlink", str(link.readlink()), str(link)] if link.is_symlink() else []
        words += ["--ro-bind", str(link), str(link)] if link.is_dir() and not link.is_symlink() else []
    tops = [path for path in {*shown} if not any(path != other and path.is_relative_to(other) for other in shown)]
    words += [word for path in sorted(map(str, tops)) for word in ("--ro-bind", path, path)]
    words += [*more, "--dir", _HOME, "--chdir", _HOME]
    # /proc too: for root, the program could otherwise write the kernel's settings.
    fixed = ("/", "/dev", "/home", "/proc", "/run", "/var", *(f"/dev/{name}" for name in _DEVICES))
    words += [word for name in fixed for word in ("--remount-ro", name)]
    # Hard limits per process; limits of all together are watched from outside, since the kernel exempts root.
    most = (f"--nproc={limits.processes}", f"--as={limits.memory}", f"--fsize={limits.disk}", "--core=0")
    return [*words, nice, "-n", "19", prlimit, *most]


class ConfinedProgram:
    """A running program while the endpoint is open; samples without an output count as unanswered."""

    def __init__(self, command: Sequence[str], log: Path, limits: ProcessLimits) -> None:
        self._command, self._log, self._limits = _absolute(command), log, limits
        self._task: asyncio.Task[None] | None = None
        self.over = ""
        """The limit that ended it, if one did."""

    def start(self, server: EndpointServer) -> None:
        """Start the program in the running event loop; it is ended with the loop."""
        self._task = asyncio.get_running_loop().create_task(self._live(server))

    def _words(self, server: EndpointServer, calls: int) -> list[str]:
        """The whole command, including bubblewrap."""
        binds = ["--ro-bind", str(relay.__file__), _RELAY, "--ro-bind", str(server.socket), _SOCKET]
        own = Path(sys.executable)
        shown = [*_shown(self._command), *_interpreter(own)]
        script = [str(own), "-I", "-S", _RELAY, _SOCKET, str(server.port)]
        return [*_bwrap(shown, self._limits, calls, *binds), *script, *self._command]

    def _start(self, server: EndpointServer) -> subprocess.Popen[bytes]:
        with _refused_calls() as calls:
            # Not an asyncio process, since it is also waited for after the loop has closed.
            process = subprocess.Popen(  # noqa: S603 - no shell, and what runs is named by who replays
                self._words(server, calls.fileno()),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[calls.fileno()],
                env=self._environment(server),
                start_new_session=True,
            )
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        os.set_blocking(process.stdout.fileno(), False)
        return process

    async def _live(self, server: EndpointServer) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._log.write_bytes(b"")
        process = self._start(server)
        assert process.stdout is not None
        end = time.monotonic() + self._limits.seconds
        try:
            while True:
                ended = process.poll() is not None  # before its output is read, so that this is all of it
                self._keep(process.stdout.read(_PIECE) or b"")
                if not self.over and not ended:
                    self.over = "time" if time.monotonic() > end else _over(process.pid, server, self._limits)
                if self.over:
                    process.kill()  # and with it all processes of its namespace
                if self.over or ended:
                    for session in list(server.sessions.values()):  # including sessions that are just opening
                        session.give_up(Choice(status=Status.NONE))
                await asyncio.sleep(_POLL_S)
        finally:
            process.kill()
            process.wait()
            self._keep(process.stdout.read(_PIECE) or b"")
            process.stdout.close()

    def _keep(self, said: bytes) -> None:
        """Append output to the log, as text that no terminal obeys."""
        with self._log.open("a", encoding="utf-8") as log:
            room = max(self._limits.disk - log.tell(), 0)
            log.write(without_hidden(said[:room].decode(errors="replace")))
        if len(said) > room:
            self.over = self.over or "output"

    def _environment(self, server: EndpointServer) -> Mapping[str, str]:
        """The program's environment: the endpoint's address, without keys or settings of this machine."""
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), server.origin)
        direct = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
        asked = {"OPENAI_BASE_URL": f"{server.origin}/v1", "OPENAI_API_KEY": server.token}
        path = os.pathsep.join((str(Path(self._command[0]).parent), "/usr/local/bin", "/usr/bin", "/bin"))
        plain = {"PATH": path, "HOME": _HOME, "LANG": "C.UTF-8", "USER": "replay"}
        return {**plain, **proxies, **direct, **asked, "HELLOFRESH_ENDPOINT": server.origin}

    def check_end(self) -> None:
        """Raise RunError if the program could not be started, or a limit ended it."""
        with self._log.open(encoding="utf-8", errors="replace") as log:
            first = log.readline(300).strip()
        if first.startswith("bwrap: "):
            raise RunError(f"the program cannot be started ({first})", where=str(self._log), code="not-confined")
        if self.over:
            raise RunError(
                f"the program used more {self.over} than it may and was ended",
                where=str(self._log),
                expected=str(self._limits),
                fix="Nothing was written of this replay. Have its team mend the program.",
                code="over-limit",
            )


def _over(outer: int, server: EndpointServer, limits: ProcessLimits) -> str:
    """The limit that a program's processes together exceed, or ''.

    This is needed since the kernel exempts root from limits of processes. The `/proc` of the program's namespace lists
    only its processes, so reading it stays fast.
    """
    memory = tasks = 0
    if server.connections > limits.connections:
        return "connections"
    try:
        (first, *_) = Path(f"/proc/{outer}/task/{outer}/children").read_text(encoding="ascii").split() or [""]
        inside = Path("/proc", first, "root/proc")
        if not first or inside.stat().st_dev == Path("/proc").stat().st_dev:  # its root is not set up yet
            return ""
        for path in (path for path in inside.iterdir() if path.name.isdigit()):
            with suppress(OSError):  # the process has just ended
                tasks += (path / "task").stat().st_nlink - 2
                if tasks > limits.processes:
                    return "processes"
                memory += int((path / "statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # the program has just ended
        return ""
    machine = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    total, available = (int(machine[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    return "memory" if memory > limits.memory or available < total / 20 else ""
