import type { ConnectedFirestore, Scope, View } from '@holdfast/engine';
import type { ProjectRow } from '../../projects/index.ts';
import type { RestoreRow } from '../restore-store.ts';

/** What a worker has open while it writes for a restore. */
export interface OpenRestore {
  firestore: ConnectedFirestore;
  view: View;
  /** The target's state before the restore; absent when no safety backup is made. */
  before: View | undefined;
  signal: AbortSignal;
}

interface What {
  row: RestoreRow;
  target: ProjectRow;
  scope: Scope;
  after?: string | null | undefined;
}

/** Options that all puts and deletes of a restore share. */
export function putOptions({ firestore, view, before, signal }: OpenRestore, { row, target, scope, after }: What) {
  return {
    view,
    scope,
    signal,
    target: firestore.target,
    mode: row.mergeMode,
    rampUp: target.writeRampUp,
    rewriteReferences: row.rewriteReferences,
    ...(before ? { before } : {}),
    ...(after === undefined || after === null ? {} : { after }),
  };
}
