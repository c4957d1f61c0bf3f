"""`ask-agent`: how soon its first request comes, and its memory. The API is a server on loopback, in this process."""

import json
import os
import shutil
import socket
import tempfile
import time

from measure import ROOM, Times, gnu, musl, processor_of

SESSION = "0b0e4c6e-3c2f-4d4e-9d57-1f1f6a9a1c11"


def events(*blocks):
    """The stream of a reply with these blocks."""
    yield "message_start", {"message": {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}}}
    for at, block in enumerate(blocks):
        text, input = block.pop("text", None), block.pop("input", None)
        yield "content_block_start", {"index": at, "content_block": {**block, **({"input": {}} if text is None else {"text": ""})}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(input)} if text is None else {"type": "text_delta", "text": text}
        yield "content_block_delta", {"index": at, "delta": delta}
        yield "content_block_stop", {"index": at}
    yield "message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
    yield "message_stop", {}


def says(text):
    return [{"type": "text", "text": text}]


def calls(id, tool, **input):
    return [{"type": "tool_use", "id": id, "name": tool, "input": input}]


class Server:
    """The API. One thread starts the agent and then answers it, so no change of threads is in the times."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(30)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def request(self):
        """Waits for one whole request."""
        connection, _ = self.socket.accept()
        got = b""
        while b"\r\n\r\n" not in got:
            got += self.more(connection)
        head, _, body = got.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        while len(body) < length:
            body += self.more(connection)
        return connection

    def more(self, connection):
        piece = connection.recv(1 << 16)
        if not piece:
            raise SystemExit("the agent broke off its request")
        return piece

    def reply(self, connection, blocks):
        text = "".join(f"event: {name}\ndata: {json.dumps({'type': name, **event})}\n\n" for name, event in events(*blocks))
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + text.encode())
        connection.close()


class Home:
    """A new home, in which the agent works."""

    def __init__(self, url):
        self.folder = tempfile.mkdtemp(dir=ROOM)
        self.env = {
            "HOME": self.folder, "PATH": os.environ["PATH"], "ASKBOX_DIR": f"{self.folder}/q", "ASKBOX_CONFIG": f"{self.folder}/config.toml",
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "dummy", "NO_PROXY": "127.0.0.1",
        }

    def start(self, program, *arguments):
        """Starts the program and returns its process id. Its output is thrown away."""
        os.chdir(self.folder)
        null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        return os.posix_spawn(program, [str(program), *arguments], self.env, file_actions=null)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.chdir("/")
        shutil.rmtree(self.folder, ignore_errors=True)


def memory(pid):
    """KiB: the anonymous part, and the peak of all. The peak is the kernel's VmHWM: wait4 would count this script before the exec."""
    fields = dict(row.split(":", 1) for row in open(f"/proc/{pid}/status") if ":" in row)
    return int(fields["RssAnon"].split()[0]), int(fields["VmHWM"].split()[0])


def ended(pid, program):
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise SystemExit(f"{program} failed")


def first_request(program, starts):
    """Microseconds from the start to the whole first request, from the start to the end of `--version`, and of the processor until the
    request; the memory then."""
    server = Server()
    requests, versions, spent, used = [], [], [], []
    with Home(server.url) as home:
        for _ in range(starts):
            began = time.perf_counter()
            ended(home.start(program, "--version"), program)
            versions.append((time.perf_counter() - began) * 1e6)
            began = time.perf_counter()
            pid = home.start(program, "x", "--dangerously-skip-permissions")
            connection = server.request()
            requests.append((time.perf_counter() - began) * 1e6)
            spent.append(processor_of(pid))
            used.append(memory(pid))
            server.reply(connection, says("done"))
            ended(pid, program)
    return Times(requests), Times(versions), Times(spent), max(used)


def turn_with_tools(program):
    """The memory at the last request of a turn: twenty commands, each with more output than the model reads, a search and a file."""
    server = Server()
    with Home(server.url) as home:
        pid = home.start(program, "x", "--dangerously-skip-permissions", "--session-id", SESSION)
        steps = [calls(f"t{n}", "Bash", command="seq 100000") for n in range(20)]
        steps += [calls("g", "Glob", pattern="**/*"), calls("w", "Write", file_path="f", content="x" * 100_000), calls("r", "Read", file_path="f")]
        for step in steps:
            server.reply(server.request(), step)
        connection = server.request()
        used = memory(pid)
        server.reply(connection, says("done"))
        ended(pid, program)
    return used


def agent(table, starts, with_gnu):
    programs = {"": musl("ask-agent"), ", gnu build": gnu("ask-agent")}
    for build, program in programs.items():
        if not program.exists() or (build and not with_gnu):
            continue
        requests, versions, spent, idle = first_request(program, starts)
        worst, median = requests.p(100) / 1000, requests.median / 1000
        table.row("A", f"ask-agent: start → its first request, p50{build}", f"{median:.2f} ms", "≤ 5 ms", median <= 5)
        table.row("A", f"the same, the worst of {starts}{build}", f"{worst:.2f} ms", "≤ 5 ms", worst <= 5)
        table.note(f"{requests}, of it {spent} of the processor; `ask-agent --version`, from its start to its end, {versions}")
        anonymous, peak = turn_with_tools(program)
        table.row("A", f"its peak memory in a turn with 23 tool calls{build}", f"{peak / 1024:.1f} MiB, of it anonymous {anonymous} KiB", "≤ 10 MiB", peak <= 10 << 10)
        table.note(f"at the first request: peak {idle[1] / 1024:.1f} MiB, of it anonymous {idle[0]} KiB")
