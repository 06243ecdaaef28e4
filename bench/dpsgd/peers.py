"""Seconds per epoch of the same DP-SGD by others, one JSON line.

usage: peers.py WHO FEATURES CLASSES ROWS HIDDEN THREADS WHO: opacus (as documented: hooks and a
DataLoader), ghost (its fast clipping, tensors fed directly), hand (three matrix products in
PyTorch, no autograd; linear models only).
"""

import json
import resource
import sys
import time
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")
BATCH, EPOCHS = 500, 4
ENOUGH = 30  # seconds after which no further epoch begins


def main():
    who, (d, k, n, hidden, threads) = sys.argv[1], map(int, sys.argv[2:7])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    x, y = torch.rand(n, d), torch.arange(n) * 7 % k
    model = nn.Linear(d, k) if not hidden else nn.Sequential(nn.Linear(d, hidden), nn.Tanh(), nn.Linear(hidden, k))
    q, steps = BATCH / n, -(-n // BATCH)

    def direct():
        for _ in range(steps):
            i = (torch.rand(n) < q).nonzero().reshape(-1)
            yield x[i], y[i]

    if who == "hand":

        @torch.no_grad()
        def epoch():
            w, b = model.weight, model.bias
            for bx, by in direct():
                g = torch.softmax(torch.addmm(b, bx, w.T), 1)
                g[torch.arange(len(by)), by] -= 1
                norm = g.norm(dim=1) * (bx.square().sum(1) + 1).sqrt()
                g *= (1 / norm.clamp_min(1e-12)).clamp_max(1)[:, None]
                w -= 0.5 / BATCH * (g.T @ bx + torch.randn_like(w))
                b -= 0.5 / BATCH * (g.sum(0) + torch.randn_like(b))
    else:
        from opacus import PrivacyEngine

        loss = nn.CrossEntropyLoss()
        mode = "ghost" if who == "ghost" else "hooks"
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=BATCH)
        parts = PrivacyEngine().make_private(
            module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.5), data_loader=loader, criterion=loss,
            noise_multiplier=1.0, max_grad_norm=1.0, poisson_sampling=True, grad_sample_mode=mode)
        if mode == "ghost":
            model, step, loss, loader = parts
        else:
            model, step, loader = parts

        def epoch():
            for bx, by in direct() if mode == "ghost" else loader:
                step.zero_grad()
                loss(model(bx), by).backward()
                step.step()

    wall = cpu = float("inf")
    begin = time.perf_counter()
    for _ in range(EPOCHS):
        if time.perf_counter() - begin > ENOUGH:
            break
        start, ran = time.perf_counter(), time.process_time()
        epoch()
        wall, cpu = min(wall, time.perf_counter() - start), min(cpu, time.process_time() - ran)
    print(json.dumps({
        "who": who, "features": d, "classes": k, "rows": n, "hidden": hidden, "threads": threads, "wall": wall, "cpu": cpu,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }))


main()
