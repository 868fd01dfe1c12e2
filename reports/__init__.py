"""What a study's trials add up to: the ledger of finished trials, and the report made of it.

from reports.ledger import Ledger, Record, StudyInfo
from reports.report import write_report
"""
