import { type DocumentEntry, versionAt } from '../store/document.ts';
import type { Cursor } from '../store/sorted-list.ts';
import { isNamePath } from '../values/field-path.ts';
import { separator } from '../values/key.ts';
import { compareValues } from '../values/order.ts';
import type { Micros } from '../values/timestamp.ts';
import type { Value } from '../values/value.ts';
import { type DocumentView, valueAt } from './document-view.ts';
import { findNearest, type Neighbour } from './nearest.ts';
import type { Order, QueryPlan } from './plan.ts';
import type { CursorPosition } from './scope.ts';

interface Ranked {
  readonly view: DocumentView;
  readonly values: readonly Value[];
}

/** Documents looked at between two pauses. */
const stepDocuments = 16_384;

/** The scan is not over, but lets others have a turn of the event loop: call `next` again after it. */
export const pause = Symbol('pause');

/**
 * Walks the documents a plan's scope and range select at one time, in name order, without order or limit. The store may
 * change meanwhile: versions at `time` stay.
 */
export class NameScan {
  readonly #plan: QueryPlan;
  readonly #time: Micros;
  readonly #cursor: Cursor<DocumentEntry> | null;
  /** Where a child's own id starts in its key, when only direct children count; -1 when all descendants do. */
  readonly #idStart: number;
  #steps = 0;
  scanned = 0;

  constructor(plan: QueryPlan, time: Micros) {
    this.#plan = plan;
    this.#time = time;
    const { scope, database, range } = plan;
    const list = scope.collectionKey === null ? database.all : database.group(scope.collectionKey);
    const descending = plan.nameOrdered && plan.orders[0]!.descending;
    this.#cursor = list?.cursor(range.from, range.to, descending) ?? null;
    const parentLength = scope.parentKey === '' ? 0 : scope.parentKey.length + 1;
    this.#idStart = scope.allDescendants ? -1 : parentLength;
  }

  next(): DocumentView | typeof pause | undefined {
    if (this.#cursor === null) return undefined;
    for (; this.#steps < stepDocuments; this.#steps++) {
      const entry = this.#cursor.next();
      if (entry === undefined) return undefined;
      if (this.#idStart !== -1 && !this.#isDirectChild(entry.key)) continue;
      const version = versionAt(entry, this.#time);
      if (version === null) continue;
      this.scanned += 1;
      const view = { entry, version };
      if (this.#plan.matches === null || this.#plan.matches(view)) {
        this.#steps += 1;
        return view;
      }
    }
    this.#steps = 0;
    return pause;
  }

  #isDirectChild(key: string): boolean {
    const afterCollection = key.indexOf(separator, this.#idStart);
    return key.indexOf(separator, afterCollection + 1) === -1;
  }
}

/** True when the document belongs to the query, order, cursors and limit aside. */
export function belongs(plan: QueryPlan, view: DocumentView): boolean {
  const { key } = view.entry;
  const { range, scope, database } = plan;
  if (key < range.from || (range.to !== null && key >= range.to)) return false;
  const parts = key.slice(scope.parentKey === '' ? 0 : scope.parentKey.length + 1).split(separator);
  if (!scope.allDescendants && parts.length !== 2) return false;
  if (scope.collectionKey !== null && parts.at(-2) !== scope.collectionKey) return false;
  if (plan.matches !== null && !plan.matches(view)) return false;
  const ranked = rank(view, plan.orders, database.documentsRoot);
  return ranked !== null && withinCursors(plan, ranked);
}

/** Every match in the query's order, cursors applied, offset and limit not yet. For plans not in name order. */
export function sortMatches(plan: QueryPlan, views: Iterable<DocumentView>): DocumentView[] {
  const ranked: Ranked[] = [];
  for (const view of views) {
    const candidate = rank(view, plan.orders, plan.database.documentsRoot);
    if (candidate !== null && withinCursors(plan, candidate)) ranked.push(candidate);
  }
  ranked.sort((left, right) => compareRanked(plan.orders, left, right));
  return ranked.map(({ view }) => view);
}

export function nearestMatches(plan: QueryPlan, views: Iterable<DocumentView>): Neighbour[] {
  return plan.nearest === null ? [] : findNearest(views, plan.nearest, plan.database.documentsRoot);
}

/** All matches in order, with offset and limit: for callers that need the whole result. */
export function runWhole(plan: QueryPlan, time: Micros): { views: DocumentView[]; scanned: number } {
  const scan = new NameScan(plan, time);
  const found: DocumentView[] = [];
  for (let view = scan.next(); view !== undefined; view = scan.next()) if (view !== pause) found.push(view);
  const ordered = plan.nearest !== null ? nearestMatches(plan, found).map(({ view }) => view) : inOrder(plan, found);
  const to = plan.limit === null ? undefined : plan.offset + plan.limit;
  return { views: ordered.slice(plan.offset, to), scanned: scan.scanned };
}

function inOrder(plan: QueryPlan, found: DocumentView[]): DocumentView[] {
  return plan.nameOrdered ? found : sortMatches(plan, found);
}

/** The values a document is ordered by, or null when one is missing, because then it is not in the result. */
function rank(view: DocumentView, orders: readonly Order[], documentsRoot: string): Ranked | null {
  const values: Value[] = [];
  for (const order of orders) {
    const value = valueAt(view, order.path, documentsRoot);
    if (value === null) return null;
    values.push(value);
  }
  return { view, values };
}

function compareRanked(orders: readonly Order[], left: Ranked, right: Ranked): number {
  for (let index = 0; index < orders.length; index++) {
    const { path, descending } = orders[index]!;
    const order = isNamePath(path)
      ? compareEntries(left, right)
      : compareValues(left.values[index]!, right.values[index]!);
    if (order !== 0) return descending ? -order : order;
  }
  return 0;
}

function compareEntries(left: Ranked, right: Ranked): number {
  return left.view.entry.key < right.view.entry.key ? -1 : left.view.entry.key > right.view.entry.key ? 1 : 0;
}

function withinCursors(plan: QueryPlan, candidate: Ranked): boolean {
  if (plan.start !== null) {
    const order = compareToCursor(plan.orders, candidate, plan.start);
    if (plan.start.before ? order < 0 : order <= 0) return false;
  }
  if (plan.end !== null) {
    const order = compareToCursor(plan.orders, candidate, plan.end);
    if (plan.end.before ? order >= 0 : order > 0) return false;
  }
  return true;
}

function compareToCursor(orders: readonly Order[], candidate: Ranked, cursor: CursorPosition): number {
  for (let index = 0; index < cursor.values.length; index++) {
    const order = compareValues(candidate.values[index]!, cursor.values[index]!);
    if (order !== 0) return orders[index]!.descending ? -order : order;
  }
  return 0;
}
