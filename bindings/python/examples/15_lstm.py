"""An LSTM whose two matrices are on tiles: every step of time is a read, and one step of the optimiser writes them all."""

import residuum.torch as rt
import torch
from _common import small
from torch import nn


class LSTM(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.hidden = hidden
        self.gates = nn.Linear(inputs + hidden, 4 * hidden)
        self.out = nn.Linear(hidden, outputs)

    def forward(self, sequence):
        h = c = torch.zeros(sequence.shape[0], self.hidden)
        outputs = []
        for x in sequence.unbind(1):
            i, f, g, o = self.gates(torch.cat([x, h], 1)).chunk(4, 1)
            c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(self.out(h))
        return torch.stack(outputs, 1)


def main():
    torch.manual_seed(0)
    model = rt.convert(LSTM(1, 16, 1), device={"preset": "ecram"}, rule="analog", readout="aihwkit")
    optimizer = rt.Optimizer(model.parameters(), lr=0.1)
    time = torch.arange(41) * 0.3 + torch.rand(8, 1) * 6
    wave = torch.sin(time)[..., None]
    losses = []
    for _ in range(40 if small() else 400):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(wave[:, :-1]), wave[:, 1:])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"loss {losses[0]:.3f} → {losses[-1]:.4f}")
    assert losses[-1] < 0.7 * losses[0]
    return losses[-1]


if __name__ == "__main__":
    main()
