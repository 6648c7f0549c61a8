"""diagnosis: not-implemented

The stub as it was released."""

def token_mean_step(ddp_model, input_ids, labels, optimizer):
    raise NotImplementedError()
