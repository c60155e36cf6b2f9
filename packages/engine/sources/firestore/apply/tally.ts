/** The outcomes of the records: exact counts, and a bounded sample of the failures. */

import { type ApplyCounts, applyErrorsMax, type DocumentApplyError } from '../../../ports/index.ts';

export class Tally {
  written = 0;
  skipped = 0;
  deleted = 0;
  failed = 0;
  conflicts = 0;
  bytes = 0;
  readonly errors: DocumentApplyError[] = [];

  fail(path: string, code: string, message: string): void {
    this.failed += 1;
    if (this.errors.length < applyErrorsMax) this.errors.push({ path, code, message });
  }

  add(other: Tally): void {
    this.written += other.written;
    this.skipped += other.skipped;
    this.deleted += other.deleted;
    this.failed += other.failed;
    this.conflicts += other.conflicts;
    this.bytes += other.bytes;
    this.errors.push(...other.errors.slice(0, applyErrorsMax - this.errors.length));
  }

  counts(): ApplyCounts {
    const { written, skipped, deleted, failed, conflicts, bytes } = this;
    return { written, skipped, deleted, failed, conflicts, bytes };
  }
}
