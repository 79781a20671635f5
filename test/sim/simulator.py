"""Runs tidegate-sim for tests, and what queueing theory says it must find."""
import json
import math
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SIM = os.path.join(os.environ.get("TIDEGATE_BUILD", os.path.join(TOP, "build")), "app/tidegate-sim/tidegate-sim")
# half-widths are of 95 %; what is asserted is the interval of 99.9 %: t(0.9995, n-1)/t(0.975, n-1) wider
WIDER = {5: 8.610 / 2.776, 10: 4.781 / 2.262, 20: 3.883 / 2.093}


def scenario(name):
    return os.path.join(HERE, "scenarios", name + ".json")


def command(path, *options, **settings):
    return [SIM, path, *options, *(f"--set={k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in settings.items())]


def start(path, *options, settings=None):
    """A run in the background; finish() gives its results."""
    handle, results = tempfile.mkstemp(suffix=".json", prefix="tidegate-sim-")
    os.close(handle)
    words = command(path, "--results", results, *options, **(settings or {}))
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process, results


def finish(run, timeout=120):
    """The results as bytes, what stdout and stderr said. Fails where the run did."""
    process, results = run
    try:
        out, err = process.communicate(timeout=timeout)
        if process.returncode != 0:
            raise AssertionError(f"{' '.join(process.args)}: exit code {process.returncode}: {err[-1000:]}")
        with open(results, "rb") as f:
            return f.read(), out, err
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.unlink(results)


def erlang_c(c, rho):
    a, b = c * rho, 1.0
    for k in range(1, c + 1):
        b = a * b / (k + a * b)
    return b / (1 - rho * (1 - b))


def wait_mmc(c, rho):
    """Mean wait in units of the mean service time."""
    return erlang_c(c, rho) / (c * (1 - rho))


def wait_mg1(rho, scv):
    """Pollaczek and Khinchine."""
    return rho / (1 - rho) * (1 + scv) / 2


def bounded_pareto(alpha, low, high):
    """Mean and squared coefficient of variation."""
    def moment(k):
        share = 1 - (low / high) ** alpha
        return alpha * low ** alpha / share * (high ** (k - alpha) - low ** (k - alpha)) / (k - alpha)
    return moment(1), moment(2) / moment(1) ** 2 - 1


def sojourn_mm1(rho, p):
    """Percentile of the time in the system, in units of the mean service time."""
    return -math.log(1 - p) / (1 - rho)
