"""One vector: parameters_to_vector of the gradients, divided once."""

from torch.nn.utils import parameters_to_vector, vector_to_parameters


def accumulate_item_mean(model, microbatches, optimizer):
    count = sum(len(inputs) for inputs, _ in microbatches)
    if count == 0:
        raise ValueError("no item")
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        outputs = model(inputs)
        outputs.backward((outputs - targets).detach())
    mean = parameters_to_vector(p.grad for p in model.parameters()) / count
    vector_to_parameters(mean, [p.grad for p in model.parameters()])
    optimizer.step()
