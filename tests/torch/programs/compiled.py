"""A training step under torch.compile, whose compiler runs in processes of its own."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
step = torch.compile(lambda batch: net(batch).square().mean())
for _ in range(3):
    loss = step(torch.randn(8, 16))
    loss.backward()
    print(loss.item().hex())
