import type { BackupReader, Scope, View } from '@holdfast/engine';

/** What a restore reads: a view, and the chain behind it where there is one. */
export interface RestoreSource {
  view: View;
  /** Oldest first, for a moment those below the log; empty for a basket. */
  readers: readonly BackupReader[];
  /** What the view covers. */
  scope: Scope;
  /** The destination that a backup was read from. */
  readFrom?: string;
  close(): Promise<void>;
}
