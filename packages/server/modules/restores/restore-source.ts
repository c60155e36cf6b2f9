import type { BackupReader, Scope, View } from '@holdfast/engine';

/** What a restore reads: a view, and the chain behind it where there is one. */
export interface RestoreSource {
  view: View;
  /** Oldest first; empty for a basket or a moment. */
  readers: readonly BackupReader[];
  /** What the view covers. */
  scope: Scope;
  close(): Promise<void>;
}
