import optuna

from study.search.samplers import SAMPLERS, SamplerEntry


def evolution(seed):
    return optuna.samplers.NSGAIISampler(population_size=20, seed=seed)


SAMPLERS.add(SamplerEntry("evolution", evolution, "crosses and mutates the best so far", conditional=False))
