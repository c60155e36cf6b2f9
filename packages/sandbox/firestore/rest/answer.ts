import { findForAdmin, listForAdmin } from '../admin/databases.ts';
import { describeDatabase } from '../admin/describe.ts';
import type { Sandbox } from '../sandbox.ts';
import type { Database } from '../store/database.ts';
import { bearerToken } from '../transport/call.ts';
import type { Dispatcher } from '../transport/dispatch.ts';
import { asRpcError, RpcError } from '../transport/status.ts';
import { parseDatabaseName } from '../values/name.ts';
import { isoFrom } from '../values/timestamp.ts';
import { restError } from './errors.ts';
import type { RestRequest, RestResponse } from './rest-call.ts';
import { answerRunQuery, queriedParent } from './run-query.ts';

const list = /^\/v1\/(projects\/[^/]+)\/databases$/;
const databasePath = /^\/v1\/(projects\/[^/]+\/databases\/[^/]+)$/;
const clear = /^\/emulator\/v1\/(projects\/[^/]+\/databases\/[^/]+)\/documents$/;

/** The few REST calls beside gRPC: queries, the admin API's databases, and clearing one as the official emulator lets you. */
export function answerRest(
  sandbox: Sandbox,
  dispatcher: Dispatcher,
  request: RestRequest,
  response: RestResponse,
): void {
  const parent = queriedParent(request.method, request.url ?? '/');
  if (parent !== undefined) return void answerRunQuery(dispatcher, parent, request, response);
  request.resume();
  try {
    const answer = route(sandbox, request);
    if (answer === null) sendJson(response, 404, restError(new RpcError('NOT_FOUND', 'No such path.')));
    else sendJson(response, 200, answer);
  } catch (error) {
    const failure = restError(asRpcError(error));
    sendJson(response, failure.error.code, failure);
  }
}

function route(sandbox: Sandbox, request: RestRequest): object | null {
  const path = decodeURIComponent((request.url ?? '/').split('?')[0]!);
  const token = bearerToken(request.headers.authorization);
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

function sendJson(response: RestResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8' });
  response.end(JSON.stringify(body));
}
