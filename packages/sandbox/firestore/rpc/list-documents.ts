import { encodeMessage, firestoreType } from '../protos.ts';
import { type StructuredQueryMessage, sortDirection } from '../query/messages.ts';
import { planQuery } from '../query/plan.ts';
import { runWhole } from '../query/scan.ts';
import { openDatabase, type Sandbox } from '../sandbox.ts';
import type { Database } from '../store/database.ts';
import { type Version, versionAt } from '../store/document.ts';
import type { UnaryMethod } from '../transport/dispatch.ts';
import { invalid } from '../transport/status.ts';
import type { FieldPath } from '../values/field-path.ts';
import { afterSeparator, pathFromKey, segmentKey, separator } from '../values/key.ts';
import { checkCollectionId, parseParentName, type ResourceName } from '../values/name.ts';
import type { Micros } from '../values/timestamp.ts';
import { WireWriter } from '../values/wire.ts';
import { decodeAs } from './decode-as.ts';
import { decodePageToken, encodePageToken } from './page-token.ts';
import { type MaskMessage, maskPaths, renderDocument } from './render.ts';
import { type ConsistencyMessage, openSnapshot, type Snapshot } from './snapshot.ts';

interface ListDocumentsRequest extends ConsistencyMessage {
  parent: string;
  collectionId: string;
  pageSize: number;
  pageToken: string;
  orderBy: string;
  mask: MaskMessage | null;
  showMissing: boolean;
}

/** A document of the list; without a version it is missing and only its descendants exist. */
interface Listed {
  readonly key: string;
  readonly version: Version | null;
}

interface PageRequest {
  readonly database: Database;
  readonly parent: ResourceName;
  readonly request: ListDocumentsRequest;
  readonly time: Micros;
  readonly pageSize: number;
}

interface Page {
  readonly page: readonly Listed[];
  readonly nextPageToken: string;
}

const requestType = firestoreType('ListDocumentsRequest');
const responseType = firestoreType('ListDocumentsResponse');
const pageSizeDefault = 300;
const pageSizeMax = 65_535;

export function listDocumentsMethod(sandbox: Sandbox): UnaryMethod {
  return {
    kind: 'unary',
    handle: (bytes, call) => {
      const request = decodeAs<ListDocumentsRequest>(requestType, bytes);
      const parent = parseParentName(request.parent);
      const database = openDatabase(sandbox, call, parent, 'read');
      if (request.collectionId !== '') checkCollectionId(request.collectionId);
      if (request.showMissing && request.orderBy !== '') throw invalid('show_missing may not be used with order_by.');
      const snapshot = openSnapshot(database, request);
      const pageSize = request.pageSize > 0 ? Math.min(request.pageSize, pageSizeMax) : pageSizeDefault;
      const asked = { database, parent, request, time: snapshot.time, pageSize };
      const { page, nextPageToken } = request.orderBy === '' ? pageByName(asked) : pageByOrder(asked);
      noteReads(snapshot, page);
      sandbox.counters.billReads(Math.max(1, page.length));
      sandbox.counters.method(call.method).documents += page.length;
      const mask = maskPaths(request.mask);
      const documents = page.map((listed) => render(database, listed, mask));
      return encodeMessage(responseType, { documents, nextPageToken });
    },
  };
}

function noteReads(snapshot: Snapshot, page: readonly Listed[]): void {
  for (const { key } of page) snapshot.transaction?.noteDocument(key);
}

function render(database: Database, listed: Listed, mask: readonly FieldPath[] | null): Buffer {
  if (listed.version !== null) return renderDocument(listed.version, mask);
  return new WireWriter().string(1, `${database.documentsRoot}/${pathFromKey(listed.key)}`).finish();
}

function pageByName({ database, parent, request, time, pageSize }: PageRequest): Page {
  const after = decodePageToken(request.pageToken);
  const found = children(database, parent.key, request.collectionId, time, request.showMissing, after, pageSize + 1);
  const page = found.slice(0, pageSize);
  return { page, nextPageToken: found.length > pageSize ? encodePageToken(page.at(-1)!.key) : '' };
}

/** The documents right below a parent, in name order; jumps over what lies deeper. */
function children(
  database: Database,
  parentKey: string,
  collectionId: string,
  time: Micros,
  showMissing: boolean,
  after: string | null,
  countMax: number,
): Listed[] {
  const base = parentKey === '' ? '' : parentKey + separator;
  const within = collectionId === '' ? base : base + segmentKey(collectionId) + separator;
  const to = within === '' ? null : within.slice(0, -1) + afterSeparator;
  const cursor = database.all.cursor(within, to);
  if (after !== null) cursor.skipTo(after + afterSeparator);
  const found: Listed[] = [];
  for (let entry = cursor.next(); entry !== undefined && found.length < countMax; entry = cursor.next()) {
    const version = versionAt(entry, time);
    if (version === null) continue;
    const key = childKey(entry.key, base.length);
    if (key === entry.key) found.push({ key, version });
    else if (showMissing) found.push({ key, version: null });
    if (key !== entry.key || showMissing) cursor.skipTo(key + afterSeparator);
  }
  return found;
}

/** The first two segments below the parent: the child that a key is, or is below. */
function childKey(key: string, baseLength: number): string {
  const idStart = key.indexOf(separator, baseLength) + 1;
  const end = key.indexOf(separator, idStart);
  return end === -1 ? key : key.slice(0, end);
}

function pageByOrder({ database, parent, request, time, pageSize }: PageRequest): Page {
  const offset = Number(decodePageToken(request.pageToken) ?? 0);
  const query: StructuredQueryMessage = {
    select: null,
    from: [{ collectionId: request.collectionId, allDescendants: false }],
    where: null,
    orderBy: parseOrderBy(request.orderBy),
    startAt: null,
    endAt: null,
    offset,
    limit: { value: pageSize + 1 },
    findNearest: null,
  };
  const { views } = runWhole(planQuery(database, parent, query), time);
  const page = views.slice(0, pageSize).map(({ entry, version }) => ({ key: entry.key, version }));
  return { page, nextPageToken: views.length > pageSize ? encodePageToken(String(offset + pageSize)) : '' };
}

/** `priority desc, __name__ desc`. */
function parseOrderBy(text: string): StructuredQueryMessage['orderBy'] {
  return text.split(',').map((part) => {
    const [fieldPath, direction = 'asc', ...rest] = part.trim().split(/\s+/);
    if (!fieldPath || rest.length > 0 || !/^(asc|desc)$/i.test(direction)) throw invalid(`Invalid order_by "${text}".`);
    const descending = direction.toLowerCase() === 'desc';
    return { field: { fieldPath }, direction: descending ? sortDirection.DESCENDING : sortDirection.ASCENDING };
  });
}
