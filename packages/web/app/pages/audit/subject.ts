import type { AuditEntry } from '@holdfast/contract';
import type { Paths } from '../../paths.ts';
import { t } from '../../texts/index.ts';

export const wordsOf = (type: string) => `${type.charAt(0).toUpperCase()}${type.slice(1).replaceAll('_', ' ')}`;

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);
const listOf = (value: unknown) =>
  Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : [];

/** The documents of a restore, as the entry tells; undefined for all. */
export function whichOf({ details }: AuditEntry): string | undefined {
  const [collections, documents] = [listOf(details.collections), listOf(details.documents)];
  const [only] = documents;
  const count = typeof details.documentCount === 'number' ? details.documentCount : documents.length;
  if (only !== undefined) return count === 1 ? only : t.restores.documents(count);
  return collections.length > 0 ? t.newRestore.collections(collections) : undefined;
}

/** Names of records that an entry knows by id only; undefined if deleted. */
export type NameOf = (type: string, id: string) => string | undefined;

/** What an entry is about, in words. */
export function subjectOf(entry: AuditEntry, nameOf: NameOf): string {
  const { resource, details, action } = entry;
  if (action === 'auth.denied') return t.audit.refusedCall(callName(resource.id ?? ''), textOf(details.code) ?? '');
  if (action === 'member.role_changed')
    return t.audit.roles(textOf(details.email) ?? '', textOf(details.previousRole) ?? '', textOf(details.role) ?? '');
  const what = details.dryRun === true ? t.restores.dryRun : wordsOf(resource.type);
  const name = textOf(details.name) ?? textOf(details.email) ?? nameOf(resource.type, resource.id ?? '');
  const project = nameOf('project', textOf(details.targetProjectId) ?? textOf(details.projectId) ?? '');
  // Several projects may have a schedule of the same name.
  if (resource.type === 'schedule' && name !== undefined && project !== undefined)
    return `${what} ${name} ${t.backups.of(project)}`;
  if (name !== undefined) return `${what} ${name}`;
  const of = details.undoOf ? undefined : (whichOf(entry) ?? project);
  const undo = details.dryRun === true ? t.restores.dryUndo : t.audit.undoOf;
  const words = details.undoOf ? undo : of === undefined ? what : `${what} ${t.backups.of(of)}`;
  const askedBy = textOf(details.askedBy);
  return askedBy === undefined ? words : t.audit.asAsked(words, askedBy);
}

/** `deleteBackup` → "Delete backup". */
const callName = (id: string) => {
  const words = id.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
};

/** The page of the record, if it has one. */
export function pathOf({ type, id }: AuditEntry['resource'], paths: Paths): string | undefined {
  if (id === null) return undefined;
  const pages: Readonly<Record<string, (id: string) => string>> = {
    backup: paths.backup,
    restore: paths.restore,
    project: paths.project,
    schedule: paths.schedule,
    storage_destination: paths.destination,
    webhook: paths.webhook,
  };
  return pages[type]?.(id);
}
