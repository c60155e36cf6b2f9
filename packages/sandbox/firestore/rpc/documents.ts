import { randomInt } from 'node:crypto';
import { firestoreType } from '../protos.ts';
import { openDatabase, type Sandbox } from '../sandbox.ts';
import type { Database } from '../store/database.ts';
import { encodeDocument } from '../store/document.ts';
import type { PreconditionMessage, WriteMessage } from '../store/write.ts';
import type { Call } from '../transport/call.ts';
import type { UnaryMethod } from '../transport/dispatch.ts';
import { invalid, RpcError } from '../transport/status.ts';
import { splitDocument } from '../values/fields.ts';
import { checkCollectionId, checkId, parseDocumentName, parseParentName } from '../values/name.ts';
import { commitWrites } from './commit.ts';
import { decodeAs } from './decode-as.ts';
import { type MaskMessage, maskPaths, renderDocument } from './render.ts';
import { type ConsistencyMessage, openSnapshot } from './snapshot.ts';

const getRequest = firestoreType('GetDocumentRequest');
const createRequest = firestoreType('CreateDocumentRequest');
const updateRequest = firestoreType('UpdateDocumentRequest');
const deleteRequest = firestoreType('DeleteDocumentRequest');

const idAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const idLength = 20;
const empty = new Uint8Array(0);

interface GetDocumentRequest extends ConsistencyMessage {
  name: string;
  mask: MaskMessage | null;
}

export function getDocumentMethod(sandbox: Sandbox): UnaryMethod {
  return {
    kind: 'unary',
    handle: (bytes, call) => {
      const request = decodeAs<GetDocumentRequest>(getRequest, bytes);
      const name = parseDocumentName(request.name);
      const database = openDatabase(sandbox, call, name, 'read');
      const { time, transaction } = openSnapshot(database, request);
      transaction?.noteDocument(name.key);
      sandbox.counters.billReads(1);
      const version = database.read(name.key, time);
      if (version === null) throw new RpcError('NOT_FOUND', `Document "${request.name}" not found.`);
      sandbox.counters.method(call.method).documents += 1;
      return renderDocument(version, maskPaths(request.mask));
    },
  };
}

interface CreateDocumentRequest {
  parent: string;
  collectionId: string;
  documentId: string;
  document: Uint8Array;
  mask: MaskMessage | null;
}

export function createDocumentMethod(sandbox: Sandbox): UnaryMethod {
  return {
    kind: 'unary',
    handle: (bytes, call) => {
      const request = decodeAs<CreateDocumentRequest>(createRequest, bytes);
      const parent = parseParentName(request.parent);
      const database = openDatabase(sandbox, call, parent, 'write');
      checkCollectionId(request.collectionId);
      const id = request.documentId === '' ? randomId() : request.documentId;
      checkId(id, id);
      const name = `${request.parent}/${request.collectionId}/${id}`;
      const update = encodeDocument(Buffer.from(name), splitDocument(request.document).fields, 0, 0);
      const currentDocument: PreconditionMessage = { conditionType: 'exists', exists: false };
      return writeAndShow(sandbox, call, database, name, request.mask, {
        operation: 'update',
        update,
        currentDocument,
      });
    },
  };
}

interface UpdateDocumentRequest {
  document: Uint8Array;
  updateMask: MaskMessage | null;
  mask: MaskMessage | null;
  currentDocument: PreconditionMessage | null;
}

export function updateDocumentMethod(sandbox: Sandbox): UnaryMethod {
  return {
    kind: 'unary',
    handle: (bytes, call) => {
      const request = decodeAs<UpdateDocumentRequest>(updateRequest, bytes);
      if (request.document.length === 0) throw invalid('The request holds no document.');
      const { name } = splitDocument(request.document);
      const database = openDatabase(sandbox, call, parseDocumentName(name), 'write');
      return writeAndShow(sandbox, call, database, name, request.mask, {
        operation: 'update',
        update: request.document,
        updateMask: request.updateMask,
        currentDocument: request.currentDocument,
      });
    },
  };
}

export function deleteDocumentMethod(sandbox: Sandbox): UnaryMethod {
  return {
    kind: 'unary',
    handle: (bytes, call) => {
      const request = decodeAs<{
        name: string;
        currentDocument: PreconditionMessage | null;
      }>(deleteRequest, bytes);
      const database = openDatabase(sandbox, call, parseDocumentName(request.name), 'write');
      const { currentDocument } = request;
      commitWrites(sandbox, database, [{ operation: 'delete', delete: request.name, currentDocument }]);
      sandbox.faults.afterEffect(call);
      return empty;
    },
  };
}

function writeAndShow(
  sandbox: Sandbox,
  call: Call,
  database: Database,
  name: string,
  mask: MaskMessage | null,
  write: WriteMessage,
): Uint8Array {
  const { time } = commitWrites(sandbox, database, [write]);
  sandbox.counters.method(call.method).documents += 1;
  sandbox.faults.afterEffect(call);
  return renderDocument(database.read(parseDocumentName(name).key, time)!, maskPaths(mask));
}

function randomId(): string {
  return Array.from({ length: idLength }, () => idAlphabet[randomInt(idAlphabet.length)]!).join('');
}
