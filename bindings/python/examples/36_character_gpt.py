"""A character-level GPT whose linear layers train on tiles, beside the same in digital memory.

Residual Learning and mixed precision write the matrices of attention and of the perceptrons; embeddings, norms and biases stay in torch
and learn by AdamW. The text is three sonnets (W. Shakespeare, 1609), so that a model of this size learns it by heart in the end.

    python 36_character_gpt.py --figure docs/python/character-gpt.png      draws the losses (needs matplotlib)
"""

import sys

import residuum
import residuum.torch as rt
import torch
from _common import small
from torch import nn

TEXT = """
Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date:
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd;
But thy eternal summer shall not fade
Nor lose possession of that fair thou owest;
Nor shall Death brag thou wander'st in his shade,
When in eternal lines to time thou growest:
So long as men can breathe or eyes can see,
So long lives this and this gives life to thee.

When, in disgrace with fortune and men's eyes,
I all alone beweep my outcast state
And trouble deaf heaven with my bootless cries
And look upon myself and curse my fate,
Wishing me like to one more rich in hope,
Featured like him, like him with friends possess'd,
Desiring this man's art and that man's scope,
With what I most enjoy contented least;
Yet in these thoughts myself almost despising,
Haply I think on thee, and then my state,
Like to the lark at break of day arising
From sullen earth, sings hymns at heaven's gate;
For thy sweet love remember'd such wealth brings
That then I scorn to change my state with kings.

Let me not to the marriage of true minds
Admit impediments. Love is not love
Which alters when it alteration finds,
Or bends with the remover to remove:
O no! it is an ever-fixed mark
That looks on tempests and is never shaken;
It is the star to every wandering bark,
Whose worth's unknown, although his height be taken.
Love's not Time's fool, though rosy lips and cheeks
Within his bending sickle's compass come:
Love alters not with his brief hours and weeks,
But bears it out even to the edge of doom.
If this be error and upon me proved,
I never writ, nor no man ever loved.
"""

WIDTH, HEADS, DEPTH, CONTEXT = 32, 4, 2, 32
DEVICE = {"response": "soft_bounds", "radius": 1.0, "pulse_step": 0.001, "step_spread": 0.3, "cycle_noise": 0.3, "imbalance_spread": 0.05}
RESIDUAL = {"kind": "residual_learning", "transfer_rate": 0.1, "mixing": 0.5, "symmetric_point": "known"}
# The rule of the tiles and its learning rate; what `source` makes of gradients is AdamW's or plain.
RULES = {
    "digital, AdamW": None,
    "Analog SGD": ({"kind": "analog"}, 0.1),
    "Residual Learning": (RESIDUAL, 1.0),
    "Residual Learning, AdamW": ({**RESIDUAL, "source": "adamw", "transfer_rate": 0.05}, 3e-3),
    "mixed precision, AdamW": ({"kind": "mixed_precision", "source": "adamw"}, 3e-3),
}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, letters):
        super().__init__()
        self.letter, self.place = nn.Embedding(letters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(DEPTH)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, letters)

    def forward(self, text):
        x = self.letter(text) + self.place(torch.arange(text.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def train(name, steps, batch=8):
    """Losses of a model under one rule; all see the same text in the same order, from the same start."""
    torch.manual_seed(0)
    residuum.manual_seed(0)
    letters = sorted(set(TEXT))
    text = torch.tensor([letters.index(c) for c in TEXT])
    model = GPT(len(letters))
    if RULES[name] is None:
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    else:
        rule, lr = RULES[name]
        model = rt.convert(model, device=DEVICE, rule=rule, readout="aihwkit")
        optimizer = rt.Optimizer(model.parameters(), lr=lr, digital=torch.optim.AdamW, digital_lr=3e-3)
    draw, losses = torch.Generator().manual_seed(1), []
    for _ in range(steps):
        starts = torch.randint(len(text) - CONTEXT - 1, (batch,), generator=draw)
        part = torch.stack([text[s : s + CONTEXT + 1] for s in starts])
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def draw(curves, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for name, losses in curves.items():
        width = max(len(losses) // 30, 1)
        smooth = torch.tensor(losses).unfold(0, width, 1).mean(1)
        axes.plot(range(width, width + len(smooth)), smooth, label=name)
    axes.set(xlabel="step", ylabel="cross-entropy per letter / nats", title="A character GPT on tiles")
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    steps = 12 if small() else 1000
    curves = {name: train(name, steps) for name in RULES}
    for name, losses in curves.items():
        tail = losses[-max(steps // 10, 1) :]
        print(f"{name}: loss {losses[0]:.2f} → {sum(tail) / len(tail):.2f}")
        assert sum(tail) / len(tail) < losses[0]
    if "--figure" in sys.argv:
        draw(curves, sys.argv[sys.argv.index("--figure") + 1])
    return {name: losses[-1] for name, losses in curves.items()}


if __name__ == "__main__":
    main()
