"""diagnosis: work-not-shared

Every rank computes the whole mean: right, and P times the work."""



def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    losses = 0.5 * (ddp_model(inputs) - targets).square().sum(1)
    optimizer.zero_grad()
    losses.mean().backward()
    optimizer.step()
