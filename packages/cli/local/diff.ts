import {
  type DiffSide,
  type DocumentChange,
  diffSides,
  everything,
  type Scope,
  scopeContains,
  stringifyLossless,
  type View,
  wholeDatabase,
} from '@holdfast/engine';
import type { Command } from 'commander';
import { exitCode } from '../exit-codes.ts';
import { formatCount, printLine, writeOut } from '../output.ts';
import { latestArgument } from './latest.ts';
import { type DatabaseOptions, openDatabase } from './open-database.ts';
import { type ScopeOptions, type StoreOptions, scopeOf, storeCommand, withDatabase, withScope } from './options.ts';
import { emptyInSource, emptyInView, notThere } from './require-named.ts';
import { type Session, viewOf, withSession } from './session.ts';

interface DiffOptions extends StoreOptions, DatabaseOptions, ScopeOptions {}

export function diffCommand(): Command {
  return withScope(
    withDatabase(storeCommand('diff', 'what changed from a backup to another backup, or to the live database')),
  )
    .argument(...latestArgument)
    .argument('<against>', 'another id, or live')
    .action(
      async (reference: string, against: string, options: DiffOptions) =>
        await withSession(options, (session) => diff(session, reference, against, options)),
    );
}

async function diff(session: Session, reference: string, against: string, options: DiffOptions): Promise<void> {
  const view = await viewOf(session, reference);
  const scope = readScope(view, options);
  const before = sideOf(view, session, scope);
  const { side: after, covered, emptyAmong, close } = await otherSide(session, against, options, scope);
  const isKnown = ({ path }: DocumentChange) =>
    [view.body?.scope, covered].every((one) => one === undefined || scopeContains(one, path));
  const counts = { added: 0, removed: 0, changed: 0 };
  try {
    await requireSomewhere(view, emptyAmong, session, options);
    for await (const change of diffSides(before, after)) {
      if (!isKnown(change)) continue;
      counts[change.kind] += 1;
      await writeOut(process.stdout, options.json ? `${stringifyLossless(change)}\n` : describe(change));
    }
  } finally {
    await close();
  }
  if (options.json) await writeOut(process.stdout, `${JSON.stringify({ summary: counts })}\n`);
  else
    printLine(
      `${formatCount(counts.added)} added, ${formatCount(counts.removed)} removed, ${formatCount(counts.changed)} changed.`,
    );
  if (counts.added + counts.removed + counts.changed > 0) process.exitCode = exitCode.different;
}

/** Only what the backup covers is compared: of other documents nobody knows whether they changed. */
function readScope({ body }: View, options: DiffOptions): Scope {
  const asked = scopeOf(options);
  const covered = body?.scope ?? wholeDatabase;
  if (asked.collections !== 'all' || covered.documents !== undefined) return asked;
  return {
    collections: covered.collections,
    includeSubcollections: covered.includeSubcollections && asked.includeSubcollections,
    excludeCollections: [...new Set([...covered.excludeCollections, ...asked.excludeCollections])],
  };
}

type EmptyAmong = (collections: readonly string[]) => Promise<string[]>;

/** Throws when a named or excluded collection has no documents on either side. */
async function requireSomewhere(
  view: View,
  emptyAmong: EmptyAmong,
  { signal }: Session,
  { collections = [], exclude = [] }: DiffOptions,
): Promise<void> {
  const named = [...collections, ...exclude].filter((collection) => collection !== '*');
  const empty = await emptyAmong(await emptyInView(view, wholeDatabase, named, signal));
  if (empty.length > 0) throw notThere('COLLECTION_NOT_FOUND', 'Neither side holds anything in', empty);
}

function sideOf(view: View, { signal }: Session, scope: Scope): DiffSide {
  return { database: view.database, records: view.records({ scope }, { signal }) };
}

interface OtherSide {
  readonly side: DiffSide;
  /** The scope of the other side; undefined when it covers everything. */
  readonly covered: Scope | undefined;
  readonly emptyAmong: EmptyAmong;
  close(): Promise<void>;
}

async function otherSide(session: Session, against: string, options: DiffOptions, scope: Scope): Promise<OtherSide> {
  const { signal } = session;
  if (against !== 'live') {
    const view = await viewOf(session, against);
    const emptyAmong: EmptyAmong = (collections) => emptyInView(view, wholeDatabase, collections, signal);
    return { side: sideOf(view, session, scope), covered: view.body?.scope, emptyAmong, close: async () => undefined };
  }
  const { source, close } = await openDatabase(options);
  const readTime = await source.snapshotTime();
  const records = source.scan(everything, { scope, readTime, signal });
  const emptyAmong: EmptyAmong = (collections) =>
    emptyInSource(source, wholeDatabase, collections, { readTime, signal });
  return { side: { database: source.database, records }, covered: undefined, emptyAmong, close };
}

function describe(change: DocumentChange): string {
  if (change.kind !== 'changed') return `${change.kind === 'added' ? '+' : '-'} ${change.path}\n`;
  const fields = change.changes.map(
    ({ path, before, after }) => `    ${path}: ${stringifyLossless(before)} → ${stringifyLossless(after)}\n`,
  );
  return `~ ${change.path}\n${fields.join('')}`;
}
