import { adminType, encodeMessage } from '../protos.ts';
import { decodeAs } from '../rpc/decode-as.ts';
import type { Sandbox } from '../sandbox.ts';
import type { Database } from '../store/database.ts';
import type { UnaryMethod } from '../transport/dispatch.ts';
import { timestampFrom } from '../values/timestamp.ts';
import { findForAdmin, listForAdmin } from './databases.ts';
import { describeDatabase } from './describe.ts';

const listRequest = adminType('ListDatabasesRequest');
const listResponse = adminType('ListDatabasesResponse');
const getRequest = adminType('GetDatabaseRequest');
const databaseType = adminType('Database');
const firestoreNative = 1;
const optimistic = 1;
const editions = { standard: 1, enterprise: 2 } as const;
const realtimeEnabled = 1;
const realtimeDisabled = 2;
const recoveryEnabled = 1;
const recoveryDisabled = 2;

export function listDatabasesMethod(sandbox: Sandbox): UnaryMethod {
  return {
    kind: 'unary',
    handle: (bytes, call) => {
      const { parent } = decodeAs<{ parent: string }>(listRequest, bytes);
      return encodeMessage(listResponse, { databases: listForAdmin(sandbox, call.token, parent).map(message) });
    },
  };
}

export function getDatabaseMethod(sandbox: Sandbox): UnaryMethod {
  return {
    kind: 'unary',
    handle: (bytes, call) => {
      const { name } = decodeAs<{ name: string }>(getRequest, bytes);
      return encodeMessage(databaseType, message(findForAdmin(sandbox, call.token, name)));
    },
  };
}

function message(database: Database): object {
  const description = describeDatabase(database);
  return {
    name: description.name,
    uid: description.uid,
    createTime: timestampFrom(description.createTime),
    updateTime: timestampFrom(description.createTime),
    locationId: description.locationId,
    type: firestoreNative,
    concurrencyMode: optimistic,
    databaseEdition: editions[description.edition.edition],
    realtimeUpdatesMode: description.edition.realtimeUpdates ? realtimeEnabled : realtimeDisabled,
    versionRetentionPeriod: { seconds: description.versionRetentionSeconds },
    earliestVersionTime: timestampFrom(description.earliestVersionTime),
    pointInTimeRecoveryEnablement: description.pointInTimeRecovery ? recoveryEnabled : recoveryDisabled,
  };
}
