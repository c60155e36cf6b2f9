import type { BodyInput } from './operation.ts';
import type { Operations } from './operations/index.ts';

/** One example body per call with a body. The documents show it, and a test checks that the call accepts it. */

const projectId = 'prj_01JNF3QAB2M6W8YC4E';
const backupId = 'bkp_01JNF3QG5K7M9P2R4T';
const storageDestinationId = 'dst_01JNF3QC8R3S5T7V9X';
const accessKey = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'the secret that belongs to it' };
const nightly = { last: 7, weekly: 4, monthly: 12 };

type Examples = {
  readonly [I in keyof Operations as Operations[I] extends { body: unknown } ? I : never]: BodyInput<Operations[I]>;
};

export const requestExamples: Examples = {
  exchangeCode: { code: 'the code from the callback', grant_type: 'authorization_code' },
  signInWithLink: { token: 'hfl_…' },
  refreshTokens: { refreshToken: 'the refresh token of the last answer' },
  createOrganization: { name: 'Acme', slug: 'acme' },
  updateOrganization: {
    name: 'Acme',
    settings: { timezone: 'Europe/Berlin', notifications: { emails: ['ops@acme.test'], events: ['backup.failed'] } },
  },
  deleteOrganization: { confirmName: 'Acme', force: false },
  updateSubscription: { plan: 'enterprise', billingCycle: 'yearly' },
  setEncryptionKey: { passphrase: 'correct horse battery staple' },
  updateMember: { role: 'admin' },
  createInvitation: { email: 'grace@acme.test', role: 'member' },
  showInvitation: { token: 'the token of the link in the e-mail' },
  acceptInvitation: { token: 'the token of the link in the e-mail' },
  createServiceAccount: { name: 'Nightly jobs', permissions: ['backups:create', 'backups:read'] },
  rotateServiceAccount: { graceSeconds: 86_400 },
  createProject: { name: 'Shop', sourceProjectId: 'acme-shop', connection: { type: 'oauth' } },
  updateProject: { name: 'Shop', settings: { backupTimeoutMinutes: 60, readRateLimit: 5000 } },
  reconnectProject: {},
  enablePitr: { retentionDays: 7 },
  disablePitr: { deleteLog: false },
  createStorageDestination: {
    name: 'Main bucket',
    type: 's3',
    bucket: 'acme-backups',
    region: 'eu-central-1',
    prefix: 'firestore',
    credentials: accessKey,
    isDefault: true,
  },
  updateStorageDestination: { credentials: accessKey },
  listBuckets: { type: 's3', region: 'eu-central-1', credentials: accessKey },
  purgeStorageDestination: { dryRun: true },
  migrateStorageDestination: { toStorageDestinationId: storageDestinationId },
  createBackup: { projectId, type: 'full', collections: ['*'], excludeCollections: ['sessions'] },
  importBackup: {
    projectId,
    storageDestinationId,
    path: 'exports/2026-03-01',
    metadata: { type: 'full', source: 'firestore-export' },
  },
  startDrill: {},
  startRestore: { backupId, documentIds: ['users/ada'], options: { mergeMode: 'overwrite', dryRun: true } },
  undoRestore: { force: false },
  createSchedule: {
    projectId,
    name: 'Every night',
    cron: '30 2 * * *',
    timezone: 'Europe/Berlin',
    type: 'incremental',
    fullEvery: 7,
    retentionPolicy: nightly,
  },
  updateSchedule: { enabled: false },
  previewSchedule: { cron: '30 2 * * *', timezone: 'Europe/Berlin', count: 5 },
  createWebhook: { name: 'Deploy bot', url: 'https://acme.test/hooks/backups', events: ['backup.*', 'restore.failed'] },
  updateWebhook: { events: ['*'], enabled: true },
  patchWebhook: { timeout: 10_000, filters: { projects: [projectId] } },
  toggleWebhook: { enabled: false },
  testWebhook: { event: 'backup.completed' },
  recoverWebhook: { since: '2026-03-01T00:00:00Z' },
};
