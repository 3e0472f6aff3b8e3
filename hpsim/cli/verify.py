"""``hpsim verify``: the zero-counterexample claim and every claim of the catalogue, checked again for CI."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from hpsim.cli.announce import announce_compilation
from hpsim.cli.completion import claim_ids
from hpsim.cli.exits import COUNTEREXAMPLE, FAILED_CHUNKS, quit_at_once, stopped_by
from hpsim.cli.memory import keep_freed_memory
from hpsim.cli.options import WHOLE, workers_option
from hpsim.cli.sweep import json_option
from hpsim.errors import HpsimError, in_brief

if TYPE_CHECKING:
    from hpsim.cli.verify_report import Verified


@click.command()
@click.option(
    "--configs",
    type=WHOLE,
    metavar="N",
    help="Random configurations of the exact sweep, 8 points each [default: 1250000].",
)
@click.option("--claims", "ids", metavar="ID[,ID…]", shell_complete=claim_ids, help="Only these claims, and no sweeps.")
@click.option("--no-proofs", is_flag=True, help="Do without the solver; every claim is searched.")
@click.option("--seconds", type=float, metavar="T", help="Time limit of one proof [default: 15].")
@workers_option
@json_option
def verify(
    configs: int | None, ids: str | None, no_proofs: bool, seconds: float | None, workers: int | None, as_json: bool
) -> None:
    """Check again that the paper's theorems have no counterexample, and that every claim is as expected.

    The recurrence of every regime is run and compared with its closed form: on the hand-crafted configurations, in the
    paper's random search in double precision, and in a larger one in exact arithmetic. Then every claim of `hpsim
    claims` is decided: at known counterexamples, by proof (with the extra `prove`), and by an exact search where no
    proof covers every S and M. What is expected to fail has to fail. Nothing is written.

    Exit code 0: everything is as expected; 1: it is not, and what to run to see more is printed; 2: wrong input; 130,
    143: stopped by Ctrl-C, by SIGTERM.
    """
    from hpsim.sweep.executors import Interrupted

    announce_compilation()
    keep_freed_memory()
    try:
        verified = _verified(configs, ids, not no_proofs, seconds, workers)
    except Interrupted as stop:
        stopped_by(stop.signum, "nothing is decided")
    except KeyboardInterrupt:
        quit_at_once("nothing is decided")
    except HpsimError:
        raise
    except Exception as error:
        told = in_brief(f"{type(error).__name__}: {error}")
        click.echo(f"error: a check failed, so nothing is decided: {told}", err=True)
        sys.exit(FAILED_CHUNKS)

    from hpsim.cli.verify_report import as_data, report

    click.echo(json.dumps(as_data(verified), indent=2) if as_json else "\n".join(report(verified)))
    if not verified.holds:
        sys.exit(COUNTEREXAMPLE)


def _verified(
    configs: int | None, ids: str | None, proofs: bool, seconds: float | None, workers: int | None
) -> Verified:
    from hpsim.cli.progress import progress_on_stderr
    from hpsim.cli.verify_progress import claims_on_stderr
    from hpsim.cli.verify_report import Verified
    from hpsim.conjecture import claims_verify, verify
    from hpsim.conjecture.solver import missing_solver

    if ids is not None and configs is not None:
        raise HpsimError("--configs", "beside --claims, which leaves the sweeps out", "one of them")
    claims = claims_verify.chosen(None if ids is None else [name.strip() for name in ids.split(",")])
    limit = claims_verify.checked_seconds(claims_verify.SECONDS if seconds is None else seconds)
    missing = missing_solver() if proofs else None
    if missing is not None:
        click.echo(f"note: nothing is proved, every claim is searched: {missing}", err=True)
    sweeps = []
    if ids is None:
        with progress_on_stderr("verify") as show:
            sweeps = verify.verify(verify.CONFIGS if configs is None else configs, workers, show)
    with claims_on_stderr() as show_claim:
        kept = claims_verify.replayed()
        outcomes = claims_verify.verify_claims(
            claims,
            kept=kept,
            proofs=proofs and missing is None,
            seconds=limit,
            workers=workers,
            on_progress=show_claim,
        )
    return Verified(sweeps, kept, outcomes)
