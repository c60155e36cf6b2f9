import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Sandbox } from '../sandbox.ts';
import type { Database } from '../store/database.ts';
import { asRpcError, type CodeName, type RpcError } from '../transport/status.ts';
import { parseDatabaseName } from '../values/name.ts';
import { isoFrom } from '../values/timestamp.ts';
import { findForAdmin, listForAdmin } from './databases.ts';
import { describeDatabase } from './describe.ts';

const list = /^\/v1\/(projects\/[^/]+)\/databases$/;
const databasePath = /^\/v1\/(projects\/[^/]+\/databases\/[^/]+)$/;
const clear = /^\/emulator\/v1\/(projects\/[^/]+\/databases\/[^/]+)\/documents$/;

const httpStatus: Partial<Record<CodeName, number>> = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  UNIMPLEMENTED: 501,
};

/** The few REST calls beside gRPC: the admin API's databases, and clearing one as the official emulator lets you. */
export function answerRest(sandbox: Sandbox, request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  try {
    const answer = route(sandbox, request);
    if (answer === null)
      sendJson(response, 404, { error: { code: 404, status: 'NOT_FOUND', message: 'No such path.' } });
    else sendJson(response, 200, answer);
  } catch (error) {
    const status = asRpcError(error);
    sendJson(response, httpStatus[status.codeName] ?? 500, errorBody(status));
  }
}

function route(sandbox: Sandbox, request: IncomingMessage): object | null {
  const path = decodeURIComponent((request.url ?? '/').split('?')[0]!);
  const token = (request.headers.authorization ?? '').replace(/^Bearer +/i, '');
  const listed = request.method === 'GET' ? list.exec(path) : null;
  if (listed !== null) return { databases: listForAdmin(sandbox, token, listed[1]!).map(describeJson) };
  const got = request.method === 'GET' ? databasePath.exec(path) : null;
  if (got !== null) return describeJson(findForAdmin(sandbox, token, got[1]!));
  const cleared = request.method === 'DELETE' ? clear.exec(path) : null;
  if (cleared !== null) {
    sandbox.store.findDatabase(parseDatabaseName(cleared[1]!))?.clear();
    return {};
  }
  return null;
}

function describeJson(database: Database): object {
  const description = describeDatabase(database);
  return {
    name: description.name,
    uid: description.uid,
    createTime: isoFrom(description.createTime),
    updateTime: isoFrom(description.createTime),
    locationId: description.locationId,
    type: 'FIRESTORE_NATIVE',
    concurrencyMode: 'OPTIMISTIC',
    databaseEdition: description.edition.edition.toUpperCase(),
    realtimeUpdatesMode: description.edition.realtimeUpdates
      ? 'REALTIME_UPDATES_MODE_ENABLED'
      : 'REALTIME_UPDATES_MODE_DISABLED',
    versionRetentionPeriod: `${description.versionRetentionSeconds}s`,
    earliestVersionTime: isoFrom(description.earliestVersionTime),
    pointInTimeRecoveryEnablement: description.pointInTimeRecovery
      ? 'POINT_IN_TIME_RECOVERY_ENABLED'
      : 'POINT_IN_TIME_RECOVERY_DISABLED',
  };
}

function errorBody(status: RpcError): object {
  const code = httpStatus[status.codeName] ?? 500;
  return { error: { code, status: status.codeName, message: status.message } };
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8' }).end(JSON.stringify(body));
}
