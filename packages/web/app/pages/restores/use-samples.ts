import { type DataOf, minuteMs, type Operations } from '@holdfast/contract';
import type { Client, HoldfastError } from '@holdfast/contract/client';
import { useQuery } from '@tanstack/react-query';
import { clientFor } from '../../api/client.ts';
import { useWorkplace } from '../../api/organization.tsx';
import { diffRows, type Fields, type FirestoreValue } from '../../format/values.ts';
import type { Basket } from '../../shell/basket.ts';
import type { Plan } from './plan.ts';

type Diff = DataOf<Operations['diffBackup']>;

/** One change that the restore would make. */
export interface Sample {
  readonly path: string;
  /** Null: the whole document. */
  readonly field: string | null;
  readonly now: FirestoreValue | undefined;
  readonly then: FirestoreValue | undefined;
  readonly change: 'create' | 'remove' | 'field';
  /** The number of fields of a created document, if known. */
  readonly fields?: number;
}

const samplesMax = 8;
const documentsMax = 4;
const collectionsMax = 8;
const comparedMax = 100;
const pagesMax = 4;

/** Samples of what the dry run counted. None for another target database, which is not read. */
export function useSamples(plan: Plan, basket: Basket, projectId: string | undefined, isEnabled: boolean) {
  const { organization } = useWorkplace();
  return useQuery<Sample[], HoldfastError>({
    queryKey: [organization.id, 'samples', plan, basket.items],
    enabled: isEnabled && projectId !== undefined && plan.targetProjectId === undefined,
    staleTime: minuteMs,
    queryFn: async ({ signal }) => {
      const client = clientFor(organization.id);
      const named = pickedOf(plan, basket).slice(0, documentsMax);
      const found =
        named.length > 0
          ? (await Promise.all(named.map((one) => compareDocument(client, projectId ?? '', one, signal)))).flat()
          : await compareCollections(client, plan, signal);
      return found.filter((sample) => happens(sample, plan)).slice(0, samplesMax);
    },
  });
}

/** A few named documents are all compared, but not the documents below them. */
export const areAllSampled = (plan: Plan, basket: Basket) => {
  const count = pickedOf(plan, basket).length;
  return count > 0 && count <= documentsMax && !plan.below && plan.targetProjectId === undefined;
};

interface Picked {
  readonly path: string;
  readonly backupId?: string | undefined;
  readonly pointInTime?: string | undefined;
}

function pickedOf(plan: Plan, basket: Basket): Picked[] {
  if (plan.isBasket) return [...basket.items];
  return plan.documents.map((path) => ({ path, backupId: plan.backupId, pointInTime: plan.at }));
}

async function compareDocument(client: Client, projectId: string, picked: Picked, signal: AbortSignal) {
  const { path, backupId, pointInTime } = picked;
  const live = { params: { projectId, documentPath: path }, signal };
  const [then, now] = await Promise.all([
    orNull(
      backupId && !pointInTime
        ? client.getBackupDocument({ params: { backupId, documentPath: path }, signal })
        : client.getProjectDocument({ ...live, query: { at: pointInTime } }),
    ),
    orNull(client.getProjectDocument({ ...live, query: {} })),
  ]);
  if (!then || !now) return then ? [{ ...wholeOf(path, 'create'), fields: Object.keys(then).length }] : [];
  return diffRows(then, now)
    .filter(({ change }) => change !== 'same')
    .map(
      (row): Sample => ({ path, field: row.id.replaceAll('\0', '.'), now: row.now, then: row.then, change: 'field' }),
    );
}

async function orNull(answer: Promise<{ fields: Fields }>): Promise<Fields | null> {
  return answer.then(
    ({ fields }) => fields,
    (error: HoldfastError) => {
      if (error.code === 'DOCUMENT_NOT_FOUND') return null;
      throw error;
    },
  );
}

/** One after the other, until there are enough samples. */
async function compareCollections(client: Client, plan: Plan, signal: AbortSignal): Promise<Sample[]> {
  const found: Sample[] = [];
  const collections = plan.collections.length > 0 ? plan.collections.slice(0, collectionsMax) : [undefined];
  for (const collection of collections) {
    const happening = samplesOf(await comparePage(client, plan, collection, signal)).filter((one) =>
      happens(one, plan),
    );
    found.push(...happening.slice(0, Math.ceil(samplesMax / collections.length)));
    if (found.length >= samplesMax) break;
  }
  return found;
}

async function comparePage(
  client: Client,
  plan: Plan,
  collection: string | undefined,
  signal: AbortSignal,
): Promise<Diff> {
  const query = { limit: comparedMax, ...(collection ? { collection } : {}) };
  const { at, projectId } = plan;
  const pageOf = (cursor: string | undefined) => {
    const asked = { ...query, ...(cursor === undefined ? {} : { cursor }) };
    return at && projectId
      ? client.viewPitrDiff({ params: { projectId }, query: { ...asked, at }, signal })
      : client.diffBackup({ params: { backupId: plan.backupId ?? '' }, query: asked, signal });
  };
  const found: Diff = { against: '', changed: [], removed: [], added: [], compared: 0 };
  // Differences may come after many documents that exist only now.
  for (let cursor: string | undefined, page = 0; page < pagesMax && found.changed.length === 0; page++) {
    const answer = await pageOf(cursor).catch(nothingThere);
    if (answer === null) break;
    const { data, pagination } = answer;
    for (const kind of ['changed', 'removed', 'added'] as const) found[kind].push(...(data[kind] as never[]));
    cursor = pagination.nextCursor ?? undefined;
    if (cursor === undefined) break;
  }
  return found;
}

/** A collection that is not in the backup may be named in order to empty it. */
function nothingThere(error: HoldfastError): null {
  if (error.code !== 'COLLECTION_NOT_FOUND') throw error;
  return null;
}

const wholeOf = (path: string, change: 'create' | 'remove'): Sample => ({
  path,
  field: null,
  now: undefined,
  then: undefined,
  change,
});

function samplesOf({ changed, removed, added }: Diff): Sample[] {
  return [
    ...changed.flatMap(({ path, fields }) =>
      fields.slice(0, 2).map(
        ({ field, before, after }): Sample => ({
          path,
          field,
          now: (after ?? undefined) as FirestoreValue | undefined,
          then: (before ?? undefined) as FirestoreValue | undefined,
          change: 'field',
        }),
      ),
    ),
    ...removed.slice(0, 3).map(({ path }) => wholeOf(path, 'create')),
    ...added.slice(0, 3).map(({ path }) => wholeOf(path, 'remove')),
  ];
}

/** Filters the samples by merge mode and by whether extra documents are removed. */
function happens({ change, then }: Sample, plan: Plan): boolean {
  if (change === 'remove') return plan.deleteExtra;
  if (change === 'create') return true;
  return plan.mode === 'overwrite' || (plan.mode === 'merge' && then !== undefined);
}
