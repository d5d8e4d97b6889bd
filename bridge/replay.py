"""Plays an input log again; `python -m bridge.replay FILE` shows whether it breaks Node.

With `--no-turbo` it shows whether the simulator as it comes breaks too. Reads the logs of poisoned
battles, and any other log in the simulator's input language that has a seed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from .config import BridgeConfig, load_config
from .errors import BattlePoisoned, BridgeError
from .journal import Journal
from .registry import ControllerRegistry

__all__ = ["main", "replay"]


async def replay(journal: Journal, registry: ControllerRegistry) -> str:
    """Says how far the journal leads; raises BattlePoisoned if it breaks two controllers."""
    room = await registry.resume(journal)
    if not room.is_over:
        await room.close()
        return f"{len(journal.moves)} moves were replayed without a fault; the battle goes on"
    result = await room.result()
    winner = result.winner or "nobody"
    return (
        f"{len(journal.moves)} moves were replayed without a fault; "
        f"{winner} won after {result.turns} turns ({result.reason})"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bridge.replay", description=__doc__)
    parser.add_argument("file", type=Path, help="an input log")
    parser.add_argument("--config", type=Path, help="settings of the registry, as YAML")
    parser.add_argument(
        "--turbo",
        action=argparse.BooleanOptionalAction,
        help="whether with the faster simulator, whatever the settings say",
    )
    options = parser.parse_args()
    try:
        journal = Journal.from_input_log(options.file.read_text(encoding="utf-8"))
        print(asyncio.run(_replay_once(journal, options.config, options.turbo)))
    except BattlePoisoned as error:
        print(error)
        return 1
    except (OSError, ValueError, BridgeError) as error:
        print(f"bridge.replay: {error}", file=sys.stderr)
        return 2
    return 0


async def _replay_once(journal: Journal, config: Path | None, turbo: bool | None) -> str:
    base = load_config(config) if config else BridgeConfig()
    settings = base.replace(pool=1, warmup_battles=0, turbo=base.turbo if turbo is None else turbo)
    async with ControllerRegistry(settings) as registry:
        return await replay(journal, registry)


if __name__ == "__main__":
    sys.exit(main())
