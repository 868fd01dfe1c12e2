"""The ledger of finished trials, and the report that is made of it.

from reports.ledger import Ledger, Record, StudyInfo
from reports.report import write_report
"""
