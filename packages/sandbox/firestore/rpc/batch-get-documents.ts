import { encodeMessage, firestoreType } from '../protos.ts';
import { openDatabase, type Sandbox } from '../sandbox.ts';
import type { ServerStreamMethod } from '../transport/dispatch.ts';
import { invalid } from '../transport/status.ts';
import { databaseRoot, parseDatabaseName, parseDocumentName } from '../values/name.ts';
import { timestampFrom } from '../values/timestamp.ts';
import { decodeAs } from './decode-as.ts';
import { type MaskMessage, maskPaths, renderDocument, timestampField } from './render.ts';
import { type ConsistencyMessage, openSnapshot } from './snapshot.ts';

interface BatchGetDocumentsRequest extends ConsistencyMessage {
  database: string;
  documents: string[];
  mask: MaskMessage | null;
}

const requestType = firestoreType('BatchGetDocumentsRequest');
const responseType = firestoreType('BatchGetDocumentsResponse');
const foundTag = 0x0a;
const readTimeField = 4;

export function batchGetDocumentsMethod(sandbox: Sandbox): ServerStreamMethod {
  return {
    kind: 'serverStream',
    handle: async (bytes, call) => {
      const request = decodeAs<BatchGetDocumentsRequest>(requestType, bytes);
      const database = openDatabase(sandbox, call, parseDatabaseName(request.database), 'read');
      const mask = maskPaths(request.mask);
      const names = [...new Set(request.documents)].map((text) => ({ text, name: parseDocumentName(text) }));
      const foreign = names.find(({ text }) => !text.startsWith(`${databaseRoot(database.name)}/`));
      if (foreign !== undefined) throw invalid(`Document "${foreign.text}" is not in database "${request.database}".`);
      const { time, transaction, begun } = openSnapshot(database, request);
      if (begun) call.out.send(encodeMessage(responseType, { transaction: transaction!.id }));
      const tail = timestampField(readTimeField, time);
      const fault = sandbox.faults.streamFault(call);
      let sent = 0;
      for (const { text, name } of names) {
        if (fault !== null && sent >= fault.documentsMax) fault.strike(call);
        if (call.closed) return;
        transaction?.noteDocument(name.key);
        const version = database.read(name.key, time);
        if (version === null) {
          call.out.send(encodeMessage(responseType, { missing: text, readTime: timestampFrom(time) }));
        } else {
          const document = renderDocument(version, mask);
          call.out.appendField(foundTag, document, 0, document.length, tail);
        }
        sent += 1;
        if (call.out.congested) await call.out.ready();
      }
      sandbox.counters.billReads(sent);
      sandbox.counters.method(call.method).documents += sent;
    },
  };
}
