import type { ConnectedFirestore, Scope, View } from '@holdfast/engine';
import type { ProjectRow } from '../../projects/index.ts';
import type { RestoreRow } from '../restore-store.ts';

/** What a worker has open while it writes for a restore. */
export interface OpenRestore {
  firestore: ConnectedFirestore;
  view: View;
  /** What the target held before; absent when nothing is saved. */
  before: View | undefined;
  signal: AbortSignal;
}

interface What {
  row: RestoreRow;
  target: ProjectRow;
  scope: Scope;
  after?: string | null | undefined;
}

/** What the puts and the deletes of a restore have in common, whoever writes them. */
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
