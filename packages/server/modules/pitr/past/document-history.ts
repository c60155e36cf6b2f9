import { type DocumentVersion, decodeDocument, parseInstant, pathHash, viewOfChain } from '@holdfast/engine';
import type { CutRows } from '../../../platform/database/pages.ts';
import { projectStore } from '../../projects/index.ts';
import type { PitrContext } from '../context.ts';
import { coverageOfLog } from '../coverage.ts';
import { openLogToRead } from '../log-access.ts';
import { pitrStore } from '../pitr-store.ts';
import { segmentStore } from '../segment-store.ts';

export interface HistoryRequest {
  readonly organizationId: string;
  readonly projectId: string;
  readonly path: string;
  /** Versions before this time only. */
  readonly before: string | null;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Segments read for one page; the history of a document that changes all the time has more pages. */
const segmentsPerPage = 200;
/** A page ends where its versions together are larger than this: large documents have more pages, too. */
const pageBytesMax = 8 * 1024 * 1024;

/** Captured versions of one document, newest first; the version of the oldest base comes last. */
export async function documentHistory(
  context: PitrContext,
  request: HistoryRequest,
): Promise<DocumentVersion[] & CutRows> {
  const { versions, isWhole, oldestBase } = await capturedVersions(context, request);
  if (!isWhole) return Object.assign(versions, { isCut: true as const });
  if (oldestBase) versions.push(...(await versionOfBase(context, request, oldestBase, versions)));
  return versions;
}

interface Captured {
  readonly versions: DocumentVersion[];
  /** Whether the log knows no older ones. */
  readonly isWhole: boolean;
  readonly oldestBase: string | undefined;
}

/** The captured versions of a document, newest first: one more than requested if there are more and they fit. */
export async function capturedVersions(context: PitrContext, request: HistoryRequest): Promise<Captured> {
  const { organizationId, projectId, path, before, limit, signal } = request;
  const { database } = context.backups.platform;
  const found = await database.tenant(organizationId, async (transaction) => {
    await projectStore.get(transaction, organizationId, projectId);
    const row = await pitrStore.find(transaction, organizationId, projectId);
    if (!row) return undefined;
    const keys = await segmentStore.keysOfPath(transaction, row.logId, pathHash(path), before, segmentsPerPage);
    return { row, keys, coverage: await coverageOfLog(transaction, row) };
  });
  if (!found) return { versions: [], isWhole: true, oldestBase: undefined };
  const { row, keys, coverage } = found;
  const versions: DocumentVersion[] = [];
  const log = await openLogToRead(context, row, { attemptsMax: 4 });
  try {
    for (const { key } of keys) {
      for (const version of (await log.reader.history(path, { keys: [key], signal })).reverse())
        if (before === null || version.time < before) versions.push(version);
      if (versions.length > limit || withinBytes(versions).length < versions.length) break;
    }
  } finally {
    await log.close();
  }
  const shown = withinBytes(versions);
  const isWhole = shown.length === versions.length && versions.length <= limit && keys.length < segmentsPerPage;
  return { versions: shown, isWhole, oldestBase: coverage.bases[0]?.id };
}

/** The first one always fits. */
function withinBytes(versions: readonly DocumentVersion[]): DocumentVersion[] {
  let sum = 0;
  const end = versions.findIndex(({ bytes }, index) => {
    sum += bytes?.length ?? 0;
    return index > 0 && sum > pageBytesMax;
  });
  return versions.slice(0, end === -1 ? undefined : end);
}

async function versionOfBase(
  context: PitrContext,
  { organizationId, path, before, signal }: HistoryRequest,
  backupId: string,
  later: readonly DocumentVersion[],
): Promise<DocumentVersion[]> {
  const chain = await context.chains.openChainOf(organizationId, backupId, signal);
  try {
    const bytes = await viewOfChain(chain.readers).get(path, { signal });
    if (bytes === undefined) return [];
    const version = { time: parseInstant(decodeDocument(bytes).updateTime ?? '') ?? '', bytes };
    const isKnown = later.some(({ time }) => time === version.time) || (before !== null && version.time >= before);
    return isKnown ? [] : [version];
  } finally {
    await chain.close();
  }
}
