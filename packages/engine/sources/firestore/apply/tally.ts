/** What became of the records: exact counts, and a bounded sample of the failures. */

import { type ApplyCounts, applyErrorsMax, type DocumentApplyError } from '../../../ports/index.ts';

export class Tally {
  written = 0;
  skipped = 0;
  deleted = 0;
  failed = 0;
  readonly errors: DocumentApplyError[] = [];

  fail(path: string, code: string, message: string): void {
    this.failed += 1;
    if (this.errors.length < applyErrorsMax) this.errors.push({ path, code, message });
  }

  counts(): ApplyCounts {
    return { written: this.written, skipped: this.skipped, deleted: this.deleted, failed: this.failed };
  }
}
