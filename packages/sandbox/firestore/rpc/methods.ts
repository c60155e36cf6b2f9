import { getDatabaseMethod, listDatabasesMethod } from '../admin/grpc.ts';
import { listenMethod } from '../listen/conversation.ts';
import type { Sandbox } from '../sandbox.ts';
import type { Method } from '../transport/dispatch.ts';
import { batchGetDocumentsMethod } from './batch-get-documents.ts';
import { batchWriteMethod } from './batch-write.ts';
import { beginTransactionMethod, commitMethod, rollbackMethod } from './commit.ts';
import { createDocumentMethod, deleteDocumentMethod, getDocumentMethod, updateDocumentMethod } from './documents.ts';
import { listCollectionIdsMethod } from './list-collection-ids.ts';
import { listDocumentsMethod } from './list-documents.ts';
import { partitionQueryMethod } from './partition-query.ts';
import { runAggregationQueryMethod } from './run-aggregation-query.ts';
import { runQueryMethod } from './run-query.ts';
import { writeMethod } from './write.ts';

const FIRESTORE = '/google.firestore.v1.Firestore/';
const ADMIN = '/google.firestore.admin.v1.FirestoreAdmin/';

/** Every RPC the sandbox offers, by its HTTP/2 path. */
export function allMethods(sandbox: Sandbox): Map<string, Method> {
  return new Map<string, Method>([
    [`${FIRESTORE}GetDocument`, getDocumentMethod(sandbox)],
    [`${FIRESTORE}ListDocuments`, listDocumentsMethod(sandbox)],
    [`${FIRESTORE}CreateDocument`, createDocumentMethod(sandbox)],
    [`${FIRESTORE}UpdateDocument`, updateDocumentMethod(sandbox)],
    [`${FIRESTORE}DeleteDocument`, deleteDocumentMethod(sandbox)],
    [`${FIRESTORE}BatchGetDocuments`, batchGetDocumentsMethod(sandbox)],
    [`${FIRESTORE}BeginTransaction`, beginTransactionMethod(sandbox)],
    [`${FIRESTORE}Commit`, commitMethod(sandbox)],
    [`${FIRESTORE}Rollback`, rollbackMethod(sandbox)],
    [`${FIRESTORE}RunQuery`, runQueryMethod(sandbox)],
    [`${FIRESTORE}RunAggregationQuery`, runAggregationQueryMethod(sandbox)],
    [`${FIRESTORE}PartitionQuery`, partitionQueryMethod(sandbox)],
    [`${FIRESTORE}ListCollectionIds`, listCollectionIdsMethod(sandbox)],
    [`${FIRESTORE}BatchWrite`, batchWriteMethod(sandbox)],
    [`${FIRESTORE}Write`, writeMethod(sandbox)],
    [`${FIRESTORE}Listen`, listenMethod(sandbox)],
    [`${ADMIN}ListDatabases`, listDatabasesMethod(sandbox)],
    [`${ADMIN}GetDatabase`, getDatabaseMethod(sandbox)],
  ]);
}
