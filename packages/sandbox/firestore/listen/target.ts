import type { DocumentView } from '../query/document-view.ts';
import type { StructuredQueryMessage } from '../query/messages.ts';
import { planQuery, type QueryPlan } from '../query/plan.ts';
import { belongs, runWhole } from '../query/scan.ts';
import type { Database } from '../store/database.ts';
import { type DocumentEntry, type Version, versionAt } from '../store/document.ts';
import { invalid } from '../transport/status.ts';
import { parseDocumentName, parseParentName } from '../values/name.ts';
import type { Micros, TimestampMessage } from '../values/timestamp.ts';

export interface TargetMessage {
  targetType?: 'query' | 'documents';
  query?: { parent: string; structuredQuery: StructuredQueryMessage | null };
  documents?: { documents: string[] };
  resumeType?: 'resumeToken' | 'readTime';
  resumeToken?: Uint8Array;
  readTime?: TimestampMessage | null;
  targetId: number;
  once: boolean;
  expectedCount: { value: number } | null;
}

/**
 * A target of a listener. It knows which documents belong to it at a time, and up to which time its listener is
 * informed.
 */
export interface ListenTarget {
  readonly id: number;
  /** Everything up to this time has been sent; null before the first snapshot. */
  readTime: Micros | null;
  current: boolean;
  /** Documents that belong at `time`, in no particular order. */
  members(time: Micros): Iterable<DocumentView>;
  /** Names the target asks for that do not exist at `time`. */
  missing(time: Micros): readonly string[];
  /** Changes among `entries` from the target's read time to `time`. */
  events(entries: Iterable<DocumentEntry>, time: Micros): Map<DocumentEntry, 'changed' | 'removed'>;
}

export function planTarget(database: Database, message: TargetMessage): ListenTarget {
  if (message.targetType === 'documents') return new DocumentsTarget(database, message);
  if (message.targetType !== 'query') throw invalid('The target names neither a query nor documents.');
  const query = message.query!.structuredQuery;
  if (query === null) throw invalid('The target holds no query.');
  if ((query.from[0]?.collectionId ?? '') === '') {
    throw invalid('Listening needs a collection id: kindless queries are not supported by Listen.');
  }
  if (query.findNearest !== null) throw invalid('Listening to a vector search is not supported.');
  if (query.offset > 0) throw invalid('Listening to a query with an offset is not supported.');
  const plan = planQuery(database, parseParentName(message.query!.parent), query);
  return plan.limit === null ? new QueryTarget(plan, message.targetId) : new LimitTarget(plan, message.targetId);
}

abstract class PlannedTarget implements ListenTarget {
  readonly id: number;
  readTime: Micros | null = null;
  current = false;
  readonly plan: QueryPlan;

  constructor(plan: QueryPlan, id: number) {
    this.plan = plan;
    this.id = id;
  }

  members(time: Micros): DocumentView[] {
    return runWhole(this.plan, time).views;
  }

  missing(): readonly string[] {
    return [];
  }

  abstract events(entries: Iterable<DocumentEntry>, time: Micros): Map<DocumentEntry, 'changed' | 'removed'>;
}

/**
 * An unlimited query: whether a document belongs depends only on that document, so old versions are enough for the
 * past.
 */
class QueryTarget extends PlannedTarget {
  override events(entries: Iterable<DocumentEntry>, time: Micros): Map<DocumentEntry, 'changed' | 'removed'> {
    const events = new Map<DocumentEntry, 'changed' | 'removed'>();
    for (const entry of entries) {
      const before = this.#memberAt(entry, this.readTime ?? 0);
      const after = this.#memberAt(entry, time);
      if (after !== null && after !== before) events.set(entry, 'changed');
      else if (after === null && before !== null) events.set(entry, 'removed');
    }
    return events;
  }

  #memberAt(entry: DocumentEntry, time: Micros): Version | null {
    const version = versionAt(entry, time);
    return version !== null && belongs(this.plan, { entry, version }) ? version : null;
  }
}

/** A limited query: one document that leaves lets another in, so the whole results are compared. */
class LimitTarget extends PlannedTarget {
  override events(_entries: Iterable<DocumentEntry>, time: Micros): Map<DocumentEntry, 'changed' | 'removed'> {
    const before = new Map(this.members(this.readTime ?? 0).map(({ entry, version }) => [entry, version]));
    const events = new Map<DocumentEntry, 'changed' | 'removed'>();
    for (const { entry, version } of this.members(time)) {
      if (before.get(entry) !== version) events.set(entry, 'changed');
      before.delete(entry);
    }
    for (const entry of before.keys()) events.set(entry, 'removed');
    return events;
  }
}

/** Documents by name, whether they exist or not. */
class DocumentsTarget implements ListenTarget {
  readonly id: number;
  readTime: Micros | null = null;
  current = false;
  readonly #database: Database;
  readonly #names: ReadonlyMap<string, string>;

  constructor(database: Database, message: TargetMessage) {
    this.#database = database;
    this.id = message.targetId;
    this.#names = new Map(message.documents!.documents.map((name) => [parseDocumentName(name).key, name]));
    if (this.#names.size === 0) throw invalid('The target names no documents.');
  }

  members(time: Micros): DocumentView[] {
    const views: DocumentView[] = [];
    for (const key of this.#names.keys()) {
      const entry = this.#database.entry(key);
      const version = entry === undefined ? null : versionAt(entry, time);
      if (entry !== undefined && version !== null) views.push({ entry, version });
    }
    return views;
  }

  missing(time: Micros): readonly string[] {
    return [...this.#names].filter(([key]) => this.#database.read(key, time) === null).map(([, name]) => name);
  }

  events(entries: Iterable<DocumentEntry>, time: Micros): Map<DocumentEntry, 'changed' | 'removed'> {
    const events = new Map<DocumentEntry, 'changed' | 'removed'>();
    for (const entry of entries) {
      if (!this.#names.has(entry.key)) continue;
      const before = versionAt(entry, this.readTime ?? 0);
      const after = versionAt(entry, time);
      if (after !== null && after !== before) events.set(entry, 'changed');
      else if (after === null && before !== null) events.set(entry, 'removed');
    }
    return events;
  }
}
