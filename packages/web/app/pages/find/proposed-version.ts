import type { Restore } from '@holdfast/contract';
import { type Fields, isSameDocument } from '../../format/values.ts';
import { type Version, versionAt } from './use-versions.ts';

/** The content of a version; undefined while loading, 'unread' if not requested. */
type Read = Fields | null | undefined | 'unread';

interface Known {
  /** The live document. */
  readonly now: Fields | null | undefined;
  /** The content of the version at this index. */
  readonly fieldsAt: (place: number) => Read;
  /** The restore that wrote this version. */
  readonly writtenBy: (version: Version) => Return | undefined;
  /** The restore that overwrote this version, and was not undone. */
  readonly undoneBy: (version: Version) => Return | undefined;
}

/** What a restore did to one document. */
export interface Return {
  /** The moment of the restored version; undefined if unknown. */
  readonly to: string | undefined;
  /** A merge: the written document may hold more than the restored version. */
  readonly isMerge: boolean;
}

const isThere = ({ change }: Version) => change !== 'deleted';

/**
 * The version to propose: the newest existing one that differs from the live document. Versions that a restore has undone are
 * skipped: after what it wrote follows the version it brought back. Undefined while loading.
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
    // A restore that brought back this same version did not undo it.
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

/** The index of the version that a restore brought back; -1 if unknown. */
function placeOf(versions: readonly Version[], { to }: Return): number {
  const version = to === undefined ? undefined : versionAt(versions, to);
  return version ? versions.indexOf(version) : -1;
}

/** The index where the history continues after a version; undefined while loading. */
function placeBehind(versions: readonly Version[], place: number, { fieldsAt, writtenBy }: Known): number | undefined {
  const restore = versions[place] && writtenBy(versions[place]);
  const target = restore ? placeOf(versions, restore) : -1;
  if (!restore || target <= place) return place + 1;
  const [written, broughtBack] = [fieldsAt(place), fieldsAt(target)];
  if (written === undefined || broughtBack === undefined) return undefined;
  // Somebody else may have written it at the same time.
  const isCertain =
    restore.isMerge || written === 'unread' || broughtBack === 'unread' || isSameDocument(written, broughtBack);
  return isCertain ? target : place + 1;
}

/** The database's clock differs from ours. */
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

/** What an undo restores is known from the restore it undoes. */
function isAbout({ undoOf, items, documentIds, collections, ...restore }: Restore, path: string): boolean {
  if (undoOf !== null) return true;
  if (items) return items.some((item) => item.path === path);
  // Bare ids come with exactly one collection.
  const isBelow = (id: string) => restore.includeSubcollections && path.startsWith(`${id}/`);
  if (documentIds) return documentIds.some((id) => path === id || path.endsWith(`/${id}`) || isBelow(id));
  return !collections || collections.some((name) => name === '*' || path.startsWith(`${name}/`));
}

const sourceOf = (restore: Restore, path: string) => restore.items?.find((item) => item.path === path) ?? restore;

/** The backup a restore takes a document from, if any. */
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

/** The moment a restore takes a document back to; undefined if unknown. */
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
