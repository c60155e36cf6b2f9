import { type EventName, simpleSamples, standardSamples } from '@holdfast/contract';
import type { EventPayload } from '../../platform/event-payload.ts';
import { foundOrganization, signUp, type TestPerson } from '../../testing/people.ts';
import { startTestApp, type TestApp, type TestResponse } from '../../testing/test-app.ts';
import { reachesReceiver, startWebhookReceiver, type WebhookReceiver } from '../../testing/webhook-receiver.ts';
import { projectStore } from '../projects/index.ts';

/** A service with a receiver, and an owner with an organization: the setup of most webhook tests. */
export interface WebhookBench {
  app: TestApp;
  receiver: WebhookReceiver;
  owner: TestPerson;
  organizationId: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TestResponse>;
  /** Inserts projects with these ids, without a connection. */
  knowProjects(ids: readonly string[], organizationId?: string): Promise<void>;
  /** Creates a webhook to `path` of the receiver and returns the answer's data. */
  create(path: string, settings?: Record<string, unknown>): Promise<{ id: string; secret?: string }>;
  emit(type: EventName | string, payload: EventPayload, organizationId?: string): Promise<string>;
  /** The deliveries of a webhook once they satisfy the condition. */
  deliveries(webhookId: string, until?: (list: Delivery[]) => boolean): Promise<Delivery[]>;
  close(): Promise<void>;
}

export interface Delivery {
  id: string;
  eventId: string;
  eventType: string;
  status: string;
  statusCode: number | null;
  timestamp: string;
  duration: number | null;
  attempts: number;
  nextAttemptAt: string | null;
  lastError?: string;
  isTest: boolean;
}

export async function startWebhookHouse(environment: Record<string, string> = {}): Promise<WebhookBench> {
  const receiver = await startWebhookReceiver();
  const app = await startTestApp({ ...reachesReceiver.environment, ...environment }, reachesReceiver.overrides);
  const owner = await signUp(app, 'owner@acme.test');
  const organizationId = await foundOrganization(app, owner);
  const call: WebhookBench['call'] = (method, path, body, headers) =>
    app.request(method, `/api/v1${path}`, {
      token: owner.token,
      organizationId,
      ...(body === undefined ? {} : { body }),
      ...(headers ? { headers } : {}),
    });
  return {
    app,
    receiver,
    owner,
    organizationId,
    call,
    knowProjects: (ids, owner = organizationId) =>
      app.platform.database.tenant(owner, async (transaction) => {
        const now = app.clock.now();
        const connection = { connectionType: 'oauth', connectionStatus: 'unauthorized' } as const;
        for (const id of ids)
          await projectStore.insert(transaction, {
            ...{ id, organizationId: owner, name: id, sourceProjectId: id.replace('_', '-'), databaseId: '(default)' },
            ...{ ...connection, createdAt: now, updatedAt: now },
          });
      }),
    create: async (path, settings = {}) => {
      const body = { name: path, url: receiver.address + path, events: ['*'], ...settings };
      const answer = await call('POST', '/webhooks', body);
      if (answer.status !== 201) throw new Error(`a webhook could not be created: ${answer.text}`);
      return answer.body.data;
    },
    emit: (type, payload, organization = organizationId) =>
      app.platform.database.tenant(organization, (transaction) =>
        app.platform.outbox.emit(transaction, { organizationId: organization, type, payload }),
      ),
    deliveries: async (webhookId, until = (list) => list.length > 0) => {
      const deadlineMs = performance.now() + 10_000;
      for (;;) {
        const answer = await call('GET', `/webhooks/${webhookId}/deliveries?limit=200`);
        const list = answer.body.data.deliveries as Delivery[];
        if (until(list)) return list;
        if (performance.now() > deadlineMs) throw new Error(`not in time: ${JSON.stringify(list)}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    close: async () => {
      await app.close();
      await receiver.close();
    },
  };
}

export const completed: EventPayload = {
  data: standardSamples['backup.completed'],
  simple: simpleSamples['backup.completed'],
  metadata: { trigger: 'scheduled', scheduleId: 'sch_1' },
  filter: { projectId: 'prj_1', trigger: 'scheduled' },
};

export const failed: EventPayload = { data: standardSamples['backup.failed'], simple: simpleSamples['backup.failed'] };

export const minutes = (count: number) => count * 60_000;

export function only<T>(list: T[]): T {
  if (list.length !== 1) throw new Error(`one was expected, not ${list.length}: ${JSON.stringify(list)}`);
  return list[0] as T;
}

let paths = 0;
export const freshPath = () => `/hook-${++paths}`;
