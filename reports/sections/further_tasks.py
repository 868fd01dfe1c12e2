"""x"""


def write(results, pictures) -> str:
    return ""
