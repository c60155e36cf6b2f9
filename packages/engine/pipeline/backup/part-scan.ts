import type { DocumentSource } from '../../ports/document-source.ts';
import type { PathRange } from '../../ports/path-order.ts';
import type { SegmentWriter } from '../segments/segment-writer.ts';
import type { BackupPlan } from './backup-plan.ts';

/** What one part of a range, read at one time, reports while it runs. */
export interface PartScan {
  readonly source: DocumentSource;
  readonly plan: BackupPlan;
  readonly pathRange: PathRange;
  readonly readTime: string;
  readonly after: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly writer: SegmentWriter;
  readonly tally: RangeTally;
  readonly onRead: (documents: number, bytes: number) => void;
}

/** Everything up to `through` has been read and given to the writer. */
export interface RangeTally {
  documents: number;
  through: string | undefined;
  readonly collections: Map<string, number>;
}
