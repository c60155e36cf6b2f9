/**
 * Closes a gap in the data: reads names and times of the whole scope at one instant and compares them with what was
 * known. Differences are yielded in order of their last change, so that each piece extends the covered time, and a
 * catch-up that dies can be continued.
 */

import {
  comparePaths,
  everything,
  type Instant,
  instantFromParts,
  recordKind,
  type Scope,
} from '../../../ports/index.ts';
import type { FirestoreSource } from '../source.ts';
import { type Change, deleteChange, inCommitOrder } from './changes.ts';
import { changesOf, type NameAndTime, namesOf } from './group-scan.ts';

const fetchAtOnce = 1_000;
/** Changed names kept in memory; with more, another pass over the names is needed. */
const defaultChangedMax = 200_000;
/** Deletions kept in memory; more than these cannot be reported. */
const goneMax = 1_000_000;
/** The time of a document whose time is unknown. */
const unknownTime = instantFromParts(0, 0);
/** Documents of unknown collections that are fetched; with more, a new base is needed. */
const missedMax = 20_000;

export interface CatchUpRequest {
  readonly scope: Scope;
  /** Everything up to here is known. */
  readonly since: Instant;
  readonly at: Instant;
  /** Documents known to have existed, ascending, with their times if those are known. Missing ones become deletes. */
  readonly known: () => AsyncIterable<NameAndTime>;
  /** Whether `known` was complete, once it was read. */
  readonly knowsAll: () => boolean;
  /** Called with every existing path, changed or not. */
  readonly onPath: (path: string) => void;
  readonly signal: AbortSignal | undefined;
  readonly changedMax?: number;
}

/** Changes that, with all before them, are complete up to `through`. */
export interface CaughtUp {
  readonly changes: Change[];
  readonly through: Instant;
  /** Some of it is missing: too much was deleted or missed, or the database was reset to an older state. */
  readonly deletionsLost: boolean;
  /** Some documents are older than the covered time but were unknown: they are of newly found collections. */
  readonly hadMissed: boolean;
}

interface Difference {
  readonly changed: readonly NameAndTime[];
  readonly missed: readonly NameAndTime[];
  readonly gone: readonly string[];
  readonly isWhole: boolean;
  readonly deletionsLost: boolean;
}

export async function* catchUp(source: FirestoreSource, request: CatchUpRequest): AsyncGenerator<CaughtUp, void> {
  const { at } = request;
  let { since } = request;
  let isFirst = true;
  for (;;) {
    const difference = await compareNames(source, { ...request, since });
    const { deletionsLost, isWhole, gone } = difference;
    const groups = groupsOf(difference.changed);
    const last = isWhole ? groups.pop() : undefined;
    // With the first piece, because a capture that continues after it knows their collections.
    const missed = isFirst ? await fetchAll(source, difference.missed, request) : [];
    const hadMissed = missed.length > 0;
    const withMissed = (changes: Change[]) => inCommitOrder([...missed.splice(0), ...changes]);
    for (const group of groups) {
      const through = group.at(-1)!.at;
      const changes = withMissed(await fetchChanges(source, group, request));
      yield { changes, through, deletionsLost: isFirst && deletionsLost, hadMissed };
      since = through;
      isFirst = false;
    }
    if (!isWhole) continue;
    const changes = last === undefined ? [] : await fetchChanges(source, last, request);
    for (const path of gone) changes.push(deleteChange(source.client.name(path), at));
    yield { changes: withMissed(changes), through: at, deletionsLost, hadMissed };
    return;
  }
}

async function fetchAll(
  source: FirestoreSource,
  names: readonly NameAndTime[],
  request: CatchUpRequest,
): Promise<Change[]> {
  const changes: Change[] = [];
  for (let start = 0; start < names.length; start += fetchAtOnce)
    changes.push(...(await fetchChanges(source, names.slice(start, start + fetchAtOnce), request)));
  return changes;
}

/** One pass over all names. If there are too many changes, the oldest are kept and the pass is not complete. */
async function compareNames(source: FirestoreSource, request: CatchUpRequest): Promise<Difference> {
  const { at, since, scope, signal, changedMax = defaultChangedMax } = request;
  const oldest = new OldestChanges(changedMax);
  const gone: string[] = [];
  const missed: NameAndTime[] = [];
  let missedCount = 0;
  let wasSetBack = false;
  const known = request.known()[Symbol.asyncIterator]();
  let next = await known.next();
  const passKnown = async (before: string | undefined): Promise<void> => {
    while (!next.done && (before === undefined || comparePaths(next.value.path, before) < 0)) {
      if (gone.length < goneMax) gone.push(next.value.path);
      next = await known.next();
    }
  };
  const options = { readTime: at, scope, namesOnly: true, ...(signal === undefined ? {} : { signal }) };
  for await (const batch of source.scan(everything, options)) {
    for (const name of namesOf(batch)) {
      await passKnown(name.path);
      const before = !next.done && next.value.path === name.path ? next.value : undefined;
      if (before !== undefined) next = await known.next();
      request.onPath(name.path);
      // An older version than the known one would come after newer ones in the log, and no instant would show it.
      wasSetBack ||= before !== undefined && before.at > name.at;
      if (name.at > since) oldest.add(name);
      else if (isMissed(name, before) && request.knowsAll()) {
        missedCount += 1;
        if (missed.length < missedMax) missed.push(name);
      }
    }
  }
  await passKnown(undefined);
  if (!request.knowsAll()) missed.length = 0;
  const deletionsLost = gone.length >= goneMax || missedCount > missedMax || wasSetBack;
  return { ...oldest.take(), missed, gone, deletionsLost };
}

/** Unknown, or known by an older version only. */
function isMissed({ at }: NameAndTime, before: NameAndTime | undefined): boolean {
  return before === undefined || (before.at !== unknownTime && before.at < at);
}

/** Keeps the oldest changes in bounded memory. */
class OldestChanges {
  readonly #max: number;
  #kept: NameAndTime[] = [];
  /** Changes at or after this time were dropped; all earlier ones are kept. */
  #horizon: Instant | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  add(name: NameAndTime): void {
    if (this.#horizon !== undefined && name.at >= this.#horizon) return;
    this.#kept.push(name);
    if (this.#kept.length < 2 * this.#max) return;
    this.#kept.sort(byTime);
    this.#horizon = this.#kept[this.#max]!.at;
    // Changes of one time stay together; a commit has far fewer than are kept.
    this.#kept = this.#kept.filter((kept) => kept.at < this.#horizon!);
  }

  take(): { changed: NameAndTime[]; isWhole: boolean } {
    return { changed: this.#kept.sort(byTime), isWhole: this.#horizon === undefined };
  }
}

function byTime(left: NameAndTime, right: NameAndTime): number {
  return left.at < right.at ? -1 : left.at > right.at ? 1 : 0;
}

/** Groups to fetch together; changes of one time are never split. */
function groupsOf(changed: readonly NameAndTime[]): NameAndTime[][] {
  const groups: NameAndTime[][] = [];
  for (const name of changed) {
    const current = groups.at(-1);
    const isFull = current !== undefined && current.length >= fetchAtOnce && current.at(-1)!.at !== name.at;
    if (current === undefined || isFull) groups.push([name]);
    else current.push(name);
  }
  return groups;
}

async function fetchChanges(
  source: FirestoreSource,
  names: readonly NameAndTime[],
  { at, signal }: CatchUpRequest,
): Promise<Change[]> {
  const paths = names.map(({ path }) => path);
  const changes = await changesOf(source.client, paths, { readTime: at, ...(signal === undefined ? {} : { signal }) });
  return inCommitOrder(changes.filter(({ kind }) => kind === recordKind.put));
}
