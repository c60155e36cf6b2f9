import { encodeMessage, firestoreType } from '../protos.ts';
import { openDatabase, type Sandbox } from '../sandbox.ts';
import type { Database } from '../store/database.ts';
import { versionAt } from '../store/document.ts';
import type { UnaryMethod } from '../transport/dispatch.ts';
import { afterSeparator, segmentsFromKey, separator } from '../values/key.ts';
import { parseParentName } from '../values/name.ts';
import type { Micros, TimestampMessage } from '../values/timestamp.ts';
import { decodeAs } from './decode-as.ts';
import { decodePageToken, encodePageToken } from './page-token.ts';
import { type ConsistencyMessage, openSnapshot } from './snapshot.ts';

interface ListCollectionIdsRequest extends ConsistencyMessage {
  parent: string;
  pageSize: number;
  pageToken: string;
  readTime: TimestampMessage | null;
}

const requestType = firestoreType('ListCollectionIdsRequest');
const responseType = firestoreType('ListCollectionIdsResponse');
const pageSizeMax = 65_535;

export function listCollectionIdsMethod(sandbox: Sandbox): UnaryMethod {
  return {
    kind: 'unary',
    handle: (bytes, call) => {
      const request = decodeAs<ListCollectionIdsRequest>(requestType, bytes);
      const parent = parseParentName(request.parent);
      const database = openDatabase(sandbox, call, parent, 'read');
      const { time } = openSnapshot(database, request);
      const after = decodePageToken(request.pageToken);
      const pageSize = request.pageSize > 0 ? Math.min(request.pageSize, pageSizeMax) : pageSizeMax;
      const ids = collectionKeys(database, parent.key, time, after, pageSize + 1);
      const page = ids.slice(0, pageSize);
      sandbox.counters.billReads(1);
      return encodeMessage(responseType, {
        collectionIds: page.map((key) => segmentsFromKey(key)[0]!),
        nextPageToken: ids.length > pageSize ? encodePageToken(page.at(-1)!) : '',
      });
    },
  };
}

/**
 * Keys of the collections below a parent that hold a document at `time`, however deep: a collection whose documents are
 * all missing but have subcollections is listed too. Jumps from collection to collection.
 */
function collectionKeys(
  database: Database,
  parentKey: string,
  time: Micros,
  after: string | null,
  countMax: number,
): string[] {
  const prefix = parentKey === '' ? '' : parentKey + separator;
  const to = parentKey === '' ? null : parentKey + afterSeparator;
  const cursor = database.all.cursor(prefix, to);
  if (after !== null) cursor.skipTo(prefix + after + afterSeparator);
  const keys: string[] = [];
  for (let entry = cursor.next(); entry !== undefined && keys.length < countMax; entry = cursor.next()) {
    if (versionAt(entry, time) === null) continue;
    const key = entry.key.slice(prefix.length, entry.key.indexOf(separator, prefix.length));
    keys.push(key);
    cursor.skipTo(prefix + key + afterSeparator);
  }
  return keys;
}
