"""diagnosis: not-implemented

The stub, as it is released."""


def repair_auxiliary_term(ddp_model, microbatches, optimizer, aux_weight):
    raise NotImplementedError()
