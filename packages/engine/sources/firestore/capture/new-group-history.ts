/**
 * What a new collection group held before capture began to listen to it. Listening tells only the current documents.
 * Earlier versions, and documents that are gone again, are read from the database as of the marks of that time, as long
 * as they are few.
 */

import { type Instant, type ReadOptions, recordKind, thinnedInstants } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { countGroup } from '../scan/count.ts';
import { type Change, deleteChange } from './changes.ts';
import { changesOf, groupOf, type NameAndTime, namesOfGroup } from './group-scan.ts';

/** Marks read per stretch: a stretch usually takes ten seconds, so this is about one per second. */
const marksMax = 10;
/** Names read for one stretch, for all its new groups together. */
const namesMax = 2_000;

export interface NewGroupHistory {
  readonly changes: Change[];
  /** The marks at which the new groups are known too, ascending. */
  readonly marks: Instant[];
}

export interface NewGroupHistoryRequest {
  readonly groups: ReadonlySet<string>;
  /** Ascending, all of them before `reads.readTime`; the groups were empty before the first. */
  readonly marks: readonly Instant[];
  /** Heard up to `reads.readTime`, of all groups, in order of commit. */
  readonly heard: readonly Change[];
  /** As of the end of the stretch. */
  readonly reads: ReadOptions;
}

export async function historyOfNewGroups(
  client: FirestoreClient,
  request: NewGroupHistoryRequest,
): Promise<NewGroupHistory> {
  const { groups, heard, reads } = request;
  const own = heard.filter(({ path }) => groups.has(groupOf(path)));
  const known = new Set(own.map(versionKey));
  const changes: Change[] = [];
  const marks: Instant[] = [];
  let before: ReadonlySet<string> = new Set();
  let left = namesMax;
  const deleteMissing = (now: ReadonlySet<string>, at: Instant): void => {
    for (const path of before) if (!now.has(path)) changes.push(deleteChange(client.name(path), at));
    before = now;
  };
  for (const mark of thinnedInstants(request.marks, marksMax)) {
    const there = await namesAt(client, groups, { ...reads, readTime: mark }, left);
    if (there === undefined) continue;
    left -= there.length;
    const unknown = there.filter((name) => !known.has(versionKey(name)));
    for (const name of unknown) known.add(versionKey(name));
    const paths = unknown.map(({ path }) => path);
    if (paths.length > 0) changes.push(...(await changesOf(client, paths, { ...reads, readTime: mark })));
    deleteMissing(new Set(there.map(({ path }) => path)), mark);
    marks.push(mark);
  }
  const last = new Map(own.map(({ path, kind }) => [path, kind]));
  const atEnd = [...last].filter(([, kind]) => kind === recordKind.put).map(([path]) => path);
  deleteMissing(new Set(atEnd), reads.readTime);
  return { changes, marks };
}

/** All names of the groups as of an instant; undefined when they are more than may still be read. */
async function namesAt(
  client: FirestoreClient,
  groups: ReadonlySet<string>,
  reads: ReadOptions,
  namesLeft: number,
): Promise<NameAndTime[] | undefined> {
  const names: NameAndTime[] = [];
  for (const group of groups) {
    const count = await countGroup(client, group, reads);
    if (names.length + count > namesLeft) return undefined;
    if (count > 0) names.push(...(await namesOfGroup(client, group, reads)));
  }
  return names;
}

function versionKey({ path, at }: NameAndTime): string {
  return `${at} ${path}`;
}
