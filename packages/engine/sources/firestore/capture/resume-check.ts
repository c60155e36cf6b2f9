/**
 * After a resume a server need not tell what was deleted in between. So the database's own counts, before and after,
 * are compared with what was heard: a group's count must follow from it. If it does not, the missing deletions are
 * searched, from cheap to expensive: by asking for documents that were recreated, by the server's bloom filter, by the
 * names of the group.
 */

import { type Instant, type ReadOptions, type RecordBatch, recordKind } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { countGroup } from '../scan/count.ts';
import type { BloomFilter } from './bloom-filter.ts';
import type { Change } from './changes.ts';
import { changesOf, differenceOfGroup, differencesMax, groupOf, knownPathsWhere } from './group-scan.ts';
import { CatchUpNeeded } from './listening.ts';

/** More lookups of single documents than this cost more than they save. */
const lookupsMax = 2_000;

/** What was known of a group when listening to it resumed. */
export interface ResumedGroup {
  readonly group: string;
  readonly since: Instant;
  /** The database's own count at `since`. */
  readonly count: number;
}

export interface ResumeCheck {
  readonly client: FirestoreClient;
  /** Heard since, up to `reads.readTime`, of all groups. */
  readonly heard: readonly Change[];
  readonly names: BloomFilter | undefined;
  readonly known: ((at: Instant) => AsyncIterable<RecordBatch>) | undefined;
  /** The end of what was handed over, which is the time `known` is about. */
  readonly covered: Instant;
  readonly isInScope: (path: string) => boolean;
  readonly reads: ReadOptions;
}

/** The changes of a group that the server did not tell; none when the group's count follows from what was heard. */
export async function findWithheldChanges(resumed: ResumedGroup, check: ResumeCheck): Promise<Change[]> {
  const { client, reads, heard } = check;
  const last = new Map<string, Change>();
  for (const change of heard) if (groupOf(change.path) === resumed.group) last.set(change.path, change);
  const now = await countGroup(client, resumed.group, reads);
  const existedBefore = await existedAmong(last, resumed, check, now);
  if (existedBefore !== undefined && expectedCount(resumed.count, last, existedBefore) === now) return [];
  return await findKeptBack(resumed, check, last, now);
}

function expectedCount(before: number, last: ReadonlyMap<string, Change>, existed: ReadonlySet<string>): number {
  let count = before;
  for (const { kind, path } of last.values()) count += Number(kind === recordKind.put) - Number(existed.has(path));
  return count;
}

/**
 * Which of these documents existed at `since`. A put shows it by its creation time, unless the document was deleted and
 * created again; that is asked only when the count does not fit. A delete may be about a document that was created
 * after `since`. Undefined: too many to ask about.
 */
async function existedAmong(
  last: ReadonlyMap<string, Change>,
  { since, count }: ResumedGroup,
  check: ResumeCheck,
  now: number,
): Promise<ReadonlySet<string> | undefined> {
  const existed = new Set<string>();
  const created: string[] = [];
  const deleted: string[] = [];
  for (const { kind, path, createdAt } of last.values()) {
    if (kind === recordKind.delete) deleted.push(path);
    else if (createdAt <= since) existed.add(path);
    else created.push(path);
  }
  if (deleted.length > lookupsMax) return undefined;
  for (const path of await existingAt(check, deleted, since)) existed.add(path);
  if (expectedCount(count, last, existed) === now || created.length > lookupsMax) return existed;
  for (const path of await existingAt(check, created, since)) existed.add(path);
  return existed;
}

async function existingAt(
  { client, reads }: ResumeCheck,
  paths: readonly string[],
  readTime: Instant,
): Promise<string[]> {
  if (paths.length === 0) return [];
  const found = await changesOf(client, paths, { ...reads, readTime });
  return found.filter(({ kind }) => kind === recordKind.put).map(({ path }) => path);
}

async function findKeptBack(
  resumed: ResumedGroup,
  check: ResumeCheck,
  last: ReadonlyMap<string, Change>,
  now: number,
): Promise<Change[]> {
  const { client, names, known, covered, reads, isInScope } = check;
  const { group } = resumed;
  if (known === undefined) {
    throw new CatchUpNeeded(`the database counts ${now} documents in "${group}", which is not what it told of`);
  }
  if (names !== undefined) {
    const isSuspect = (path: string): boolean => !last.has(path) && !names.mayHold(client.name(path));
    const suspects = await knownPathsWhere(known(covered), group, isSuspect);
    if (suspects.length <= lookupsMax) {
      const found = await changesOf(client, suspects, reads);
      const kept = found.filter(({ kind }) => kind === recordKind.delete);
      const existed = await existedAmong(last, resumed, check, now + kept.length);
      if (existed !== undefined && expectedCount(resumed.count, last, existed) - kept.length === now) return kept;
    }
  }
  const heard = [...last.values()].filter(({ kind }) => kind === recordKind.put).map(({ path }) => path);
  const request = { ...reads, group, since: covered, known: known(covered), heard: heard.filter(isInScope), isInScope };
  const difference = await differenceOfGroup(client, request);
  if (difference.isTooLarge) throw new CatchUpNeeded(`more than ${differencesMax} documents changed in "${group}"`);
  return difference.changes;
}
