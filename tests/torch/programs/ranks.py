"""Two ranks, started by torchrun, that average their gradients."""
import os
import time

import torch
import torch.distributed as ranks
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
ranks.init_process_group("gloo")
torch.manual_seed(0)
net = DistributedDataParallel(nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
torch.manual_seed(1 + ranks.get_rank())
for _ in range(4):
    net(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
total = torch.stack([parameter.detach().sum() for parameter in net.parameters()]).sum()
ranks.barrier()
if os.environ["RANK"] == "0":
    print(ranks.get_world_size(), total.item().hex(), flush=True)
# A thread of gloo's may still hold the barrier's work, whose end asks for the interpreter: where that has ended by then, the
# process is aborted (torch 2.15; 1 of 12 starts without spillway on a busy machine).
time.sleep(1)
ranks.destroy_process_group()
