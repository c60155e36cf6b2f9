/**
 * The control API over HTTP, for tests and demos in another process. On a separate port, because Google has nothing
 * like it.
 */

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Fault } from './faults.ts';
import { GoogleError, parseJsonObject, readBody, sendJson } from './respond.ts';
import type { GoogleSandboxControl } from './server.ts';
import type { OAuthClient, Person, ProjectSeed } from './state.ts';

type Action = (control: GoogleSandboxControl, body: Record<string, unknown>) => unknown;

/** The control API trusts the tests that call it. */
const asGiven = <Given>(body: unknown): Given => body as Given;

const actions: ReadonlyMap<string, Action> = new Map<string, Action>([
  ['PUT /faults', (control, { faults }) => control.setFaults((faults as Fault[] | undefined) ?? [])],
  ['DELETE /faults', (control) => control.setFaults([])],
  ['POST /people', (control, body) => control.state.addPerson(body as Partial<Person>)],
  ['POST /clients', (control, body) => control.state.clients.set(String(body.clientId), asGiven<OAuthClient>(body))],
  ['POST /projects', (control, body) => void control.state.addProject(asGiven<ProjectSeed>(body))],
  ['POST /service-accounts', (control, body) => control.createServiceAccount(String(body.projectId))],
  ['POST /access-tokens', (control, { email }) => ({ token: control.issueAccessToken(String(email)) })],
  ['DELETE /access-tokens', (control) => control.expireAccessTokens()],
  ['POST /refresh-tokens', (control, { email }) => ({ token: control.issueRefreshToken(String(email)) })],
  ['POST /consents/revoke', (control, { email }) => control.revokeConsent(String(email))],
]);

export async function serveGoogleControl(
  control: GoogleSandboxControl,
  host = '127.0.0.1',
  port = 0,
): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    answer(control, request).then(
      (result) => sendJson(response, 200, result ?? {}),
      (error: unknown) => {
        const known = error instanceof GoogleError ? error : new GoogleError(500, 'INTERNAL', String(error));
        sendJson(response, known.code, known.body());
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(control: GoogleSandboxControl, request: IncomingMessage): Promise<unknown> {
  const action = actions.get(`${request.method} ${request.url}`);
  const body = await readBody(request);
  if (action === undefined) throw new GoogleError(404, 'NOT_FOUND', `No ${request.method} ${request.url}.`);
  return action(control, parseJsonObject(body));
}
