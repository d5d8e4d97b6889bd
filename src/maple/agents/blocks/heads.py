"""What comes out of a network: logits of actions, and values."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, relu

from maple.env import Actions, Observations
from maple.env.actions import TARGETS

from ..columns import divide_columns
from ..config import NetworkConfig
from .embeddings import Embeddings
from .layers import linear
from .standing import Focus

__all__ = ["Heads"]


class Heads(nn.Module):
    """Logits of actions, [rows, actions] or in doubles [rows, 2, actions], and values [rows].

    What is made of the whole observation decides, and each move speaks for itself besides.
    """

    def __init__(
        self,
        inputs: int,
        config: NetworkConfig,
        observations: Observations,
        embeddings: Embeddings,
    ) -> None:
        super().__init__()
        actions, columns = observations.actions, divide_columns(observations)
        self._shape = (actions.slots, actions.size)
        # All actions are about as likely at first.
        self.policy = linear(inputs, actions.slots * actions.size, 0.01)
        self.value = linear(inputs, 1, 1.0)
        self.moves = None
        width, moves, places = config.size("moves"), columns.own_moves, columns.own.places
        if width and moves is not None and places is not None:
            focus = Focus(places, moves.features, embeddings.choose(moves.ids))
            self.moves = _MoveScores(inputs, width, focus, actions, embeddings)

    def forward(
        self, inner: Tensor, features: Tensor, ids: Tensor, embeddings: Embeddings
    ) -> tuple[Tensor, Tensor]:
        """From what is made of observations, and from these themselves."""
        logits = self.policy(inner).reshape(-1, *self._shape)
        if self.moves is not None:
            logits = logits + self.moves(inner, features, ids, embeddings)
        value: Tensor = self.value(inner).squeeze(-1)
        return logits if self._shape[0] > 1 else logits[:, 0], value


class _MoveScores(nn.Module):
    """What each move of those who stand on the field adds to the logits of using it.

    All moves are judged alike, whoever has them and wherever they stand in a list: by what they
    are and do, and by what is made of the whole observation.
    """

    def __init__(
        self, inputs: int, width: int, focus: Focus, actions: Actions, embeddings: Embeddings
    ) -> None:
        super().__init__()
        self.focus = focus
        self._width = width
        self._before = actions.first_move
        slots, moves, features = focus.shape
        embedded = embeddings.width({kind: shape[-1] for kind, shape in focus.id_shapes.items()})
        self.look = linear(features + embedded, width, math.sqrt(2))
        self.wish = linear(inputs, slots * width, 1.0)
        # A move is used at one target or another, and in several ways at each.
        self._targets = 1 if slots == 1 else len(TARGETS)
        self.score = linear(width, (actions.size - actions.first_move) // moves, 0.01)

    def forward(
        self, inner: Tensor, features: Tensor, ids: Tensor, embeddings: Embeddings
    ) -> Tensor:
        """[rows, places, actions], which is 0 for all that is no move."""
        seen, seen_ids = self.focus(features, ids)
        embedded = [numbers.flatten(3) for numbers in embeddings(seen_ids)]
        wished = self.wish(inner).reshape(len(inner), -1, 1, self._width)
        scores = self.score(relu(self.look(torch.cat((seen, *embedded), dim=3)) + wished))
        # Actions are numbered by way, then by move, then by target.
        by_way = scores.unflatten(3, (-1, self._targets)).transpose(2, 3)
        return pad(by_way.flatten(2), (self._before, 0))
