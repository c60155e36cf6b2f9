/**
 * Google's own message definitions, as shipped with its client. Only requests and small answers go through them;
 * documents never do.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import protobuf from 'protobufjs';

const folder = join(
  dirname(createRequire(import.meta.url).resolve('@google-cloud/firestore/package.json')),
  'build/protos',
);

function load(file: string): protobuf.Root {
  return protobuf.Root.fromJSON(JSON.parse(readFileSync(join(folder, file), 'utf8')) as protobuf.INamespace);
}

const firestoreRoot = load('v1.json');
const adminRoot = load('admin_v1.json');

export type JsonMessage = { readonly [field: string]: unknown };

/** Encodes and decodes one message type; 64-bit integers and times come back as strings and numbers, enums as names. */
class MessageType {
  readonly #type: protobuf.Type;

  constructor(root: protobuf.Root, name: string) {
    this.#type = root.lookupType(name);
  }

  encode(message: JsonMessage): Uint8Array {
    return this.#type.encode(this.#type.fromObject(message)).finish();
  }

  decode(bytes: Uint8Array): JsonMessage {
    return this.#type.toObject(this.#type.decode(bytes), { longs: Number, enums: String, defaults: false });
  }
}

const firestore = (name: string) => new MessageType(firestoreRoot, `google.firestore.v1.${name}`);
const admin = (name: string) => new MessageType(adminRoot, `google.firestore.admin.v1.${name}`);

export const messages = {
  runQueryRequest: firestore('RunQueryRequest'),
  runQueryResponse: firestore('RunQueryResponse'),
  runAggregationQueryRequest: firestore('RunAggregationQueryRequest'),
  runAggregationQueryResponse: firestore('RunAggregationQueryResponse'),
  partitionQueryRequest: firestore('PartitionQueryRequest'),
  partitionQueryResponse: firestore('PartitionQueryResponse'),
  listCollectionIdsRequest: firestore('ListCollectionIdsRequest'),
  listCollectionIdsResponse: firestore('ListCollectionIdsResponse'),
  batchGetDocumentsRequest: firestore('BatchGetDocumentsRequest'),
  listenRequest: firestore('ListenRequest'),
  listenResponse: firestore('ListenResponse'),
  getDatabaseRequest: admin('GetDatabaseRequest'),
  database: admin('Database'),
};

export const methods = {
  runQuery: '/google.firestore.v1.Firestore/RunQuery',
  runAggregationQuery: '/google.firestore.v1.Firestore/RunAggregationQuery',
  partitionQuery: '/google.firestore.v1.Firestore/PartitionQuery',
  listCollectionIds: '/google.firestore.v1.Firestore/ListCollectionIds',
  batchGetDocuments: '/google.firestore.v1.Firestore/BatchGetDocuments',
  batchWrite: '/google.firestore.v1.Firestore/BatchWrite',
  listen: '/google.firestore.v1.Firestore/Listen',
  getDatabase: '/google.firestore.admin.v1.FirestoreAdmin/GetDatabase',
};
