"""A hook after accumulation divides what is in .grad at the last microbatch."""


def accumulate_item_mean(model, microbatches, optimizer):
    sizes = [len(inputs) for inputs, _ in microbatches]
    if not sum(sizes):
        raise ValueError("no item")
    optimizer.zero_grad()
    done = []

    def divide(parameter):
        if len(done) == len(sizes) - 1:
            parameter.grad /= sum(sizes)

    handles = [p.register_post_accumulate_grad_hook(divide) for p in model.parameters()]
    for inputs, targets in microbatches:
        (0.5 * (model(inputs) - targets) ** 2).sum().backward()
        done.append(len(inputs))
    for handle in handles:
        handle.remove()
    optimizer.step()
