import { isEngineError } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import type { ProjectRow } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import { journalStore } from './journal-store.ts';

/**
 * When a project moves, the journals of its restores move too and are rewrapped with the key of the other organization,
 * so that they can still be undone. Journals of restores into a project that stays are removed, and those with a
 * withdrawn key.
 */
export async function moveJournals(
  { keys }: Pick<RestoresContext, 'keys'>,
  transaction: Transaction,
  project: ProjectRow,
  toOrganizationId: string,
): Promise<void> {
  const all = await journalStore.envelopes(transaction, project.organizationId);
  const rows = all.filter(({ projectId }) => projectId === project.id);
  if (rows.length === 0) return;
  const from = await keys.ring(transaction, project.organizationId);
  const to = await keys.ring(transaction, toOrganizationId);
  for (const { id, targetProjectId, journalEnvelope } of rows) {
    const isMoved = targetProjectId === project.id;
    const dataKey = isMoved ? await from.ring.unwrap(id, journalEnvelope).catch(undefinedIfWithdrawn) : undefined;
    if (!dataKey) {
      await journalStore.drop(transaction, id);
      continue;
    }
    const envelope = { journalEnvelope: await to.ring.wrap(id, dataKey), journalKeyId: to.currentKeyId };
    await journalStore.setEnvelope(transaction, id, envelope);
    await journalStore.moveTo(transaction, id, toOrganizationId);
  }
}

function undefinedIfWithdrawn(error: unknown): undefined {
  if (!isEngineError(error, 'DECRYPTION_ERROR')) throw error;
}
