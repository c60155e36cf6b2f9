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

const firestore = '/google.firestore.v1.Firestore/';
const admin = '/google.firestore.admin.v1.FirestoreAdmin/';

/** Every RPC the sandbox offers, by its HTTP/2 path. */
export function allMethods(sandbox: Sandbox): Map<string, Method> {
  return new Map<string, Method>([
    [`${firestore}GetDocument`, getDocumentMethod(sandbox)],
    [`${firestore}ListDocuments`, listDocumentsMethod(sandbox)],
    [`${firestore}CreateDocument`, createDocumentMethod(sandbox)],
    [`${firestore}UpdateDocument`, updateDocumentMethod(sandbox)],
    [`${firestore}DeleteDocument`, deleteDocumentMethod(sandbox)],
    [`${firestore}BatchGetDocuments`, batchGetDocumentsMethod(sandbox)],
    [`${firestore}BeginTransaction`, beginTransactionMethod(sandbox)],
    [`${firestore}Commit`, commitMethod(sandbox)],
    [`${firestore}Rollback`, rollbackMethod(sandbox)],
    [`${firestore}RunQuery`, runQueryMethod(sandbox)],
    [`${firestore}RunAggregationQuery`, runAggregationQueryMethod(sandbox)],
    [`${firestore}PartitionQuery`, partitionQueryMethod(sandbox)],
    [`${firestore}ListCollectionIds`, listCollectionIdsMethod(sandbox)],
    [`${firestore}BatchWrite`, batchWriteMethod(sandbox)],
    [`${firestore}Write`, writeMethod(sandbox)],
    [`${firestore}Listen`, listenMethod(sandbox)],
    [`${admin}ListDatabases`, listDatabasesMethod(sandbox)],
    [`${admin}GetDatabase`, getDatabaseMethod(sandbox)],
  ]);
}
