from dataclasses import dataclass

from trainables.corpora.augment import AUGMENTATIONS, Augmentation
from trainables.keys import at_least, key


@dataclass(frozen=True)
class Swap(Augmentation):
    """Neighbouring words change places."""

    name = "swap"

    swaps: int = key(1, "How often two words change places.", at_least(1), label="swaps", search=(1, 2, 4))

    def change(self, seed, texts):
        def swapped(text, draws):
            words = text.split()
            for _ in range(self.swaps if len(words) > 1 else 0):
                place = draws.randrange(len(words) - 1)
                words[place : place + 2] = words[place + 1], words[place]
            return " ".join(words) if len(words) > 1 else None

        return swapped


AUGMENTATIONS.add(Swap)
