"""Types the first hour of a newcomer into a terminal of 80 columns and writes down what is seen.

Usage: first_hour.py BINARY REPOSITORY OUTPUT

A bash runs in a pseudo-terminal; each screen below is typed into it, and what came back is written to OUTPUT, one file a
screen, with everything that differs from run to run (times, ages, ports, computed names) replaced by a fixed word.
"""

import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Typed before the first screen until it is answered so: everything has arrived, and nothing is on its way any more.
SETTLED = ("karavel simulate -f examples/demo/shop.yaml", "nothing would change")

# Each screen: its name, and what is typed. A line between tildes is an expression: what follows it is repeated until it is
# found in the answer.
SCREENS = [
    ("01-clusters", ["karavel clusters"]),
    ("02-arrived", [
        "~Karmada +6/6 +6 +6 .*member1 +3/3 .*member2 +2/2 .*member3 +1/1 ~karavel get deployments -n shop -s all",
        "~(member1 +1/1 .*){3}(member2 +1/1 .*){2}member3 +1/1 ~karavel get pods -n shop -s members",
    ]),
    ("03-explain", [
        r"~\A(?!.*not looked).*Scheduled True.*FullyApplied True.*(Healthy.*Applied True.*){3}"
        "~karavel explain deployment/web -n shop",
    ]),
    ("04-simulate-lose", ["karavel simulate --lose member1"]),
    ("05-simulate-change", [
        "sed 's/replicas: 6/replicas: 9/; s/nginx:1.27/nginx:1.29/' examples/demo/shop.yaml > more.yaml",
        "karavel simulate -f more.yaml",
    ]),
    ("06-cordon", ["karavel cordon member2", "karavel cordon member2", "karavel uncordon member2"]),
    ("07-logs-and-exec", [
        "karavel logs deployment/web -n shop -C member1 --tail 1 | wc -l",
        "karavel exec deployment/web -n shop -C member1 -- sh -c 'exit 7'; echo $?",
    ]),
    ("08-apply-everywhere", [
        "karavel create configmap colours --from-literal=first=blue --dry-run -o yaml > colours.yaml",
        "karavel apply -f colours.yaml --all-clusters",
        "karavel apply -f colours.yaml --all-clusters",
        "~colours +member1 .*colours +member2 .*colours +member3 ~karavel get configmaps colours -s members",
    ]),
    ("09-wrong-words", [
        "karavel get deploymets", "karavel simulat", "karavel get pods --namspace shop", "karavel cordon membr2",
        "karavel get deployment wbe -n shop",
    ]),
    ("10-as-one-list", ["karavel get deployments -n shop -s all -o name", "karavel get deployments -n shop -s members -o jsonpath='{.items[*].spec.replicas}'; echo"]),
    ("11-top", ["karavel top nodes --clusters member1 --no-headers | wc -l"]),
    ("12-tidy", ["karavel delete -f colours.yaml", "karavel delete namespace shop --timeout 5m"]),
]

STEADY = [
    (r"\x1b\[[0-9;?]*[a-zA-Z]", ""),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"\[ *\d+\.\d\d s\]", "[<s>]"),
    (r"(/[^ ]*)?/first-hour-[^/ ]*", "<dir>"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
    (r"\b(web|settings|shop)-[a-z0-9]{8,10}-[a-z0-9]{5}\b", r"\1-<pod>"),
    # How much of a member is taken is reported a little later.
    (r"\b\d+% of (24|48Gi)", r"<used> of \1"),
    (r"(selected\s+\d+\s+)\d+", r"\1<fits>"),
    (r"\b([a-z-]+)-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b", r"\1-<hash>"),
    (r"(?<=\s)\d+[smhd](\d+[smh])?(?=\s|$)", "<age>"),
    (r"generation \d+", "generation <n>"),
    (r"observedGeneration=\d+", "observedGeneration=<n>"),
    # How often a decision was made again because others wrote the binding meanwhile.
    (r", attempt \d+\)", ")"),
    (r"v\d+\.\d+\.\d+\S*", "<version>"),
    (r"[ \t]+$", ""),
]


def steady(text):
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        for pattern, word in STEADY:
            line = re.sub(pattern, word, line)
        # Columns are as wide as their widest cell, which differs too.
        lines.append(re.sub(r" {3,}", "   ", line) if not line.startswith(" ") else line)
    return "\n".join(lines).strip("\n") + "\n"


class Terminal:
    """A bash in a pseudo-terminal of 80 columns."""

    def __init__(self, directory, environment):
        self.process, self.fd = pty.fork()
        if self.process == 0:
            os.chdir(directory)
            os.execvpe("bash", ["bash", "--norc", "--noprofile"], environment)
        import fcntl, struct, termios
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.run("bind 'set enable-bracketed-paste off' 2>/dev/null; stty -echo; PS1=''; PS2=''")

    def run(self, line, patience=120):
        number = time.monotonic_ns()
        mark = f"end-{number}"
        # Typed so that the terminal's echo of it is not taken for it.
        os.write(self.fd, f"{line}\nprintf 'end-%s\\n' {number}\n".encode())
        seen = b""
        deadline = time.monotonic() + patience
        while mark.encode() + b"\r\n" not in seen:
            if time.monotonic() > deadline:
                raise SystemExit(f"no end of: {line}\n{seen.decode(errors='replace')}")
            if select.select([self.fd], [], [], 1)[0]:
                seen += os.read(self.fd, 65536)
        return seen.decode(errors="replace").split(mark)[0]

    def close(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def until(terminal, line, wanted, patience=300):
    """Types a line until the answer has what is wanted."""
    deadline = time.monotonic() + patience
    while True:
        seen = terminal.run(line)
        if re.search(wanted, seen, re.DOTALL):
            return seen
        if time.monotonic() > deadline:
            raise SystemExit(f"never seen after {line}: {wanted}\n{seen}")


def main():
    binary, repository, output = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    directory = tempfile.mkdtemp(prefix="first-hour-")
    os.symlink(repository / "examples", f"{directory}/examples")
    data = f"{directory}/data"
    environment = {
        "PATH": f"{binary.parent}:{os.environ['PATH']}", "HOME": directory, "TERM": "xterm", "NO_COLOR": "1",
        "KUBECONFIG": f"{data}/kubeconfig", "LANG": "C.UTF-8",
    }
    begun = time.monotonic()
    up = subprocess.Popen(
        [binary, "up", "--members", "3", "--demo", "--listen", "127.0.0.1:0", "--data-dir", data],
        stdout=subprocess.PIPE, text=True, env=environment,
    )
    try:
        screen = []
        for line in up.stdout:
            # Only whoever has to wait is told for what.
            if not line.startswith("waiting for members: "):
                screen.append(line)
            if line.startswith("Ctrl-C"):
                break
        screens = [("00-up", "$ karavel up --members 3 --demo\n" + "".join(screen))]
        terminal = Terminal(directory, environment)
        until(terminal, *SETTLED)
        for name, lines in SCREENS:
            text = ""
            for line in lines:
                wanted = ""
                if line.startswith("~"):
                    _, wanted, line = line.split("~", 2)
                text += f"$ {line}\n{until(terminal, line, wanted)}"
            screens.append((name, text))
        terminal.close()
    finally:
        up.send_signal(signal.SIGINT)
        up.wait(120)
        shutil.rmtree(directory, ignore_errors=True)
    output.mkdir(parents=True, exist_ok=True)
    for name, text in screens:
        (output / f"{name}.txt").write_text(steady(text))
    print(f"{len(screens)} screens in {time.monotonic() - begun:.1f} s, ended with {up.returncode}")


main()
