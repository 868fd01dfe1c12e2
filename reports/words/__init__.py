"""The sentences of reports, pages and consoles: each fact of `reports/facts` is said by one of these files."""
