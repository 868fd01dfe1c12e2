"""The ledger of finished trials, and the report that is made from it.

from reports.ledger import Ledger, Record, StudyInfo
from reports.report import write_report
"""
