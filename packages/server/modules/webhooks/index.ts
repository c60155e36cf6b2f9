import { randomUUID } from 'node:crypto';
import { hourMs, minuteMs } from '../../platform/durations.ts';
import { outboxChannel } from '../../platform/outbox.ts';
import type { Platform } from '../../platform/platform.ts';
import type { AuditLog } from '../audit/index.ts';
import { type Module, worker } from '../module.ts';
import type { ProjectsOf } from './context.ts';
import { removeLogsOfDeleted, removeOldDeliveries } from './log/retention.ts';
import { WebhookSecrets } from './requests/webhook-secrets.ts';
import { webhookHandlers } from './routes.ts';
import { AfterSending } from './sending/after-sending.ts';
import { DeliveryQueue } from './sending/delivery-queue-store.ts';
import { deliveriesChannel } from './sending/dispatch-store.ts';
import { Dispatcher } from './sending/dispatcher.ts';
import { finalEventHandler, finalEventJob } from './sending/final-event.job.ts';
import { Sender } from './sending/sender.ts';

export { finalEventJob, sendFinalEvents } from './sending/final-event.job.ts';

const retentionEveryMs = hourMs;
/** Idle connections stay open this long for the next delivery to the same endpoint. */
const keepAliveMs = 15_000;

export function createWebhooksModule(platform: Platform, audit: AuditLog, projectsOf: ProjectsOf): Module {
  const { database, clock, keyring } = platform;
  const secrets = new WebhookSecrets(keyring);
  return {
    handlers: webhookHandlers({ platform, audit, secrets, projectsOf }),
    run: () => runDeliveries(platform, audit, secrets),
    workers: [worker(finalEventJob, 1, finalEventHandler(platform))],
    tasks: [
      {
        name: 'webhook retention',
        everyMs: retentionEveryMs,
        removesByAge: true,
        run: (signal) => removeOldDeliveries(database, clock, signal),
      },
      {
        name: 'logs of deleted webhooks',
        everyMs: minuteMs,
        run: (signal) => removeLogsOfDeleted(database, signal),
      },
    ],
  };
}

/** Outbox → deliveries → attempts, until stopped. Any number of processes may do this at once. */
async function runDeliveries(platform: Platform, audit: AuditLog, secrets: WebhookSecrets) {
  const { database, clock, ids, log, config } = platform;
  const agent = platform.outbound.createAgent({ keepAliveMs });
  const after = new AfterSending(platform, audit);
  const sender = new Sender({
    queue: new DeliveryQueue(database, randomUUID()),
    agent,
    secrets,
    clock,
    log,
    turn: (organizationId) => platform.cpuTurns.takeForJob(organizationId),
    graceMs: config.SHUTDOWN_GRACE_SECONDS * 1000,
    onWritten: (attempts) => after.apply(attempts),
  });
  const dispatcher = new Dispatcher({ database, clock, ids, log, onDeliveries: () => sender.wake() });
  const unsubscribe = [
    database.notices.subscribe(outboxChannel, () => dispatcher.wake()),
    database.notices.subscribe(deliveriesChannel, () => sender.wake()),
  ];
  dispatcher.start();
  sender.start();
  return async () => {
    for (const stop of unsubscribe) stop();
    await dispatcher.stop();
    await sender.stop();
    await agent.destroy();
  };
}
