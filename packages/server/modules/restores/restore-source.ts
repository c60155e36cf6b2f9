import type { BackupReader, Scope, View } from '@holdfast/engine';

/** What a restore reads: a view, and the backup chain behind it, if there is one. */
export interface RestoreSource {
  view: View;
  /** Oldest first. For a moment, the chain below the log; empty for picked documents. */
  readers: readonly BackupReader[];
  /** What the view covers. */
  scope: Scope;
  /** The destination that a backup was read from. */
  readFrom?: string;
  close(): Promise<void>;
}
