"""The sentences of reports, pages and consoles. Each fact of `reports/facts` is worded by one of these files."""
