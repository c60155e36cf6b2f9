import type { Restore } from '@holdfast/contract';
import { type Fields, isSameDocument } from '../../format/values.ts';
import { type Version, versionAt } from './use-versions.ts';

/** What a version holds; undefined while it is being read, 'unread' where nobody asks. */
type Read = Fields | null | undefined | 'unread';

interface Known {
  /** What stands there now. */
  readonly now: Fields | null | undefined;
  /** What the version at this place of the list holds. */
  readonly fieldsAt: (place: number) => Read;
  /** The restore that wrote this version. */
  readonly writtenBy: (version: Version) => Return | undefined;
  /** The restore that overwrote this version, and was not undone. */
  readonly undoneBy: (version: Version) => Return | undefined;
}

/** A restore, as one document met it. */
export interface Return {
  /** What it brought back stood there at this moment; undefined where that is not known. */
  readonly to: string | undefined;
  /** What it wrote may hold more than what stood there at that moment. */
  readonly isMerge: boolean;
}

const isThere = ({ change }: Version) => change !== 'deleted';

/**
 * The version somebody comes for: the newest that was there and differs from what stands there now. What a restore has
 * undone is passed over: behind what it wrote comes the version it brought back. Undefined while that is being read.
 */
export function proposedVersion(versions: readonly Version[], known: Known): Version | undefined {
  const { now, fieldsAt, undoneBy } = known;
  if (now === undefined) return undefined;
  let same: Version | undefined;
  for (let place = placeBehind(versions, 0, known); ; ) {
    if (place === undefined) return undefined;
    const version = versions[place];
    if (!version) return same ?? versions.slice(1).find(isThere) ?? versions.find(isThere);
    const undone = undoneBy(version);
    const broughtBack = undone ? placeOf(versions, undone) : place;
    // A restore that brought back this very version has undone nothing of it.
    if (broughtBack !== place) {
      place = Math.max(place + 1, broughtBack);
      continue;
    }
    if (isThere(version)) {
      const fields = fieldsAt(place);
      if (fields === undefined) return undefined;
      if (fields === 'unread' || !isSameDocument(fields, now)) return version;
      same ??= version;
    }
    place = placeBehind(versions, place, known);
  }
}

/** Where the version stands that a restore brought back; -1 when it is not known. */
function placeOf(versions: readonly Version[], { to }: Return): number {
  const version = to === undefined ? undefined : versionAt(versions, to);
  return version ? versions.indexOf(version) : -1;
}

/** Where the history goes on behind a version; undefined while that is being read. */
function placeBehind(versions: readonly Version[], place: number, { fieldsAt, writtenBy }: Known): number | undefined {
  const restore = versions[place] && writtenBy(versions[place]);
  const target = restore ? placeOf(versions, restore) : -1;
  if (!restore || target <= place) return place + 1;
  const [written, broughtBack] = [fieldsAt(place), fieldsAt(target)];
  if (written === undefined || broughtBack === undefined) return undefined;
  // At the same time somebody else may have written it.
  const isCertain =
    restore.isMerge || written === 'unread' || broughtBack === 'unread' || isSameDocument(written, broughtBack);
  return isCertain ? target : place + 1;
}

/** The clock of the database is not ours. */
const clockDifferenceMs = 2000;

/** The restore that wrote a version, by its time and by what it was asked for. Newest first. */
export function restoreOf(restores: readonly Restore[], { at }: Version, path: string): Restore | undefined {
  const atMs = Date.parse(at);
  return restores.find(
    (restore) =>
      !restore.dryRun &&
      restore.startedAt !== null &&
      atMs >= Date.parse(restore.startedAt) - clockDifferenceMs &&
      (restore.completedAt === null || atMs <= Date.parse(restore.completedAt) + clockDifferenceMs) &&
      isAbout(restore, path),
  );
}

/** What an undo takes back is told by the restore it undoes. */
function isAbout({ undoOf, items, documentIds, collections, ...restore }: Restore, path: string): boolean {
  if (undoOf !== null) return true;
  if (items) return items.some((item) => item.path === path);
  // Bare ids stand beside the one collection they lie in.
  const isBelow = (id: string) => restore.includeSubcollections && path.startsWith(`${id}/`);
  if (documentIds) return documentIds.some((id) => path === id || path.endsWith(`/${id}`) || isBelow(id));
  return !collections || collections.some((name) => name === '*' || path.startsWith(`${name}/`));
}

const sourceOf = (restore: Restore, path: string) => restore.items?.find((item) => item.path === path) ?? restore;

/** The backups a restore takes a document from: one or none. */
export function backupOf(restore: Restore, path: string): string[] {
  const { backupId } = sourceOf(restore, path);
  return restore.undoOf !== null || backupId === null ? [] : [backupId];
}

/** The restore that saved this version before it overwrote it. */
export const overwriterOf = (restores: readonly Restore[], { backupId, heldBy }: Version): Restore | undefined =>
  restores.find(
    ({ safetyBackupId, undoneBy }) =>
      safetyBackupId !== null && undoneBy === null && (safetyBackupId === backupId || safetyBackupId === heldBy),
  );

/** The moment a restore takes a document back to; undefined where it is not known. */
export function momentBroughtBack(
  restore: Restore,
  path: string,
  restores: readonly Restore[],
  snapshotOf: (backupId: string) => string | null | undefined,
): string | undefined {
  if (restore.undoOf !== null) return restores.find(({ id }) => id === restore.undoOf)?.startedAt ?? undefined;
  const { backupId, pointInTime } = sourceOf(restore, path);
  return pointInTime ?? (backupId === null ? undefined : (snapshotOf(backupId) ?? undefined));
}
