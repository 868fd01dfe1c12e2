from trainables.senteval.protocol import PROTOCOLS, Fit, Protocol

PROTOCOLS.add(Protocol("three_folds", 3, Fit("rmsprop", batch=128, tenacity=3, epoch_size=2), decays=(1e-4, 1e-2)))
