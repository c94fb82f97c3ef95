"""A small network trained on the CPU the ways that training programs have: accumulation, autocast, checkpointing, two optimizers."""
import hashlib

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(32, 64), nn.Sequential(nn.Linear(64, 64), nn.GELU()), nn.Linear(64, 10)

    def forward(self, batch):
        hidden = torch.relu(self.first(batch))
        return self.last(checkpoint(self.middle, hidden, use_reentrant=False))


def fingerprint(tensors):
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(bytes(tensor.detach().flatten().contiguous().view(torch.uint8).tolist()))
    return digest.hexdigest()


def train(make_optimizer, autocast):
    torch.manual_seed(0)
    net = Net()
    optimizer = make_optimizer(net.parameters())
    for step in range(4):
        for _ in range(2):
            batch, labels = torch.randn(16, 32), torch.randint(0, 10, (16,))
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                loss = nn.functional.cross_entropy(net(batch).float(), labels)
            (loss / 2).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        print(step, loss.item().hex())
    states = [tensor for state in optimizer.state.values() for tensor in state.values() if torch.is_tensor(tensor)]
    print(fingerprint(list(net.parameters()) + states))


torch.set_num_threads(1)
train(lambda parameters: torch.optim.AdamW(parameters, foreach=True), autocast=False)
train(lambda parameters: torch.optim.AdamW(parameters, fused=True), autocast=True)
train(lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9), autocast=False)
