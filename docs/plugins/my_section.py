from reports.sections import SECTIONS, Section


def write(results, pictures):
    """The slowest trial."""
    timed = [record for record in results.records if record.cost.get("seconds")]
    if not timed:
        return ""
    slowest = max(timed, key=lambda record: record.cost["seconds"])
    return f"`{slowest.key}` took {slowest.cost['seconds']:.0f} s."


SECTIONS.add(Section("slowest", "The slowest trial", write, after="what_was_run"))
