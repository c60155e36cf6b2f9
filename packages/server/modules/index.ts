import type { Authenticator } from '../http/authentication.ts';
import type { Denial } from '../http/options.ts';
import type { MetricFamily } from '../platform/metric-family.ts';
import type { Platform } from '../platform/platform.ts';
import { createAuditModule } from './audit/index.ts';
import { createAuthModule } from './auth/index.ts';
import {
  type BackupsContext,
  backupKind,
  backupStore,
  bytesPerDocument,
  createBackupKeys,
  createBackupsModule,
  deleteBackupsOf,
  EngineResources,
  enqueueKeyCopy,
  heldBackup,
  markWaitingForRecovery,
  moveBackups,
  organizationTotals,
  projectStatistics,
  purgeObjectsHook,
  removeKeysFrom,
  renewKeyCopies,
  rewrapBackups,
  rewrapManifestsIn,
  runningJobs,
  storageTasks,
  storageUsage,
  usersOfDestination,
  verificationKind,
  verifyUnread,
} from './backups/index.ts';
import { pauseWork } from './jobs/index.ts';
import type { Module } from './module.ts';
import { createNotificationsModule } from './notifications/index.ts';
import {
  activeOrganization,
  activeOrganizations,
  createOrganizationsModule,
  defaultStorage,
  holdOrganization,
  isInvited,
  isTaken,
  membershipsOf,
  organizationsExist,
  planOf,
  roleUnderLock,
  withdrawnKeys,
} from './organizations/index.ts';
import { createOverviewModule } from './overview/index.ts';
import {
  basesNeeded,
  basesRead,
  capturedDatabase,
  capturedMark,
  capturedSince,
  capturedState,
  createPitrModule,
  endPitrOf,
  momentsOf,
  type PitrContext,
  pitrOfProjects,
  pitrStore,
  purgeLogsHook,
  requireNotOnlyBase,
  rewrapLogs,
  storageContents,
  withLogs,
} from './pitr/index.ts';
import {
  countProjects,
  createProjectsModule,
  dropConsentOf,
  type NamedDatabase,
  projectStore,
  SourceOpener,
} from './projects/index.ts';
import {
  backupsRead,
  createRestoresModule,
  drillKind,
  momentsRead,
  moveRestores,
  openWorkOf,
  readersOf,
  requestDrill,
  restoreKind,
  rewrapJournals,
  safetyBackupsSince,
} from './restores/index.ts';
import {
  afterBackup,
  claimDueOfProject,
  createSchedulesModule,
  deleteSchedulesOf,
  dueOfProject,
  isPeriodicFull,
  moveSchedules,
  recordAnomaly,
  retentionCheckStore,
  type SchedulesContext,
  scheduleStore,
} from './schedules/index.ts';
import { createStorageModule, defaultsWork, StoreOpener, storageStore, taskKind } from './storage/index.ts';
import type { CheckResult } from './system/health.ts';
import { createWebhooksModule, sendFinalEvents } from './webhooks/index.ts';

export type { NamedDatabase } from './projects/index.ts';

export interface Composition {
  modules: readonly Module[];
  authenticator: Authenticator;
  onDenied: (denial: Denial) => Promise<void>;
  checkStorage: () => Promise<CheckResult>;
  measure: () => Promise<MetricFamily[]>;
  requireProvider: () => Promise<void>;
  signInLink: () => Promise<string | undefined>;
  remindOfKits: () => Promise<void>;
  openSample: (named: NamedDatabase) => Promise<string>;
  close: () => Promise<void>;
}

/**
 * Composes the modules; each one gets what it needs from those before it. With `openSample` the sample database lives in
 * another process.
 */
export function composeModules(platform: Platform, openSample?: Composition['openSample']): Composition {
  const { config, clock, keyring, outbound, queue, database } = platform;
  const audit = createAuditModule(platform, { planOf });
  const organizations = createOrganizationsModule(platform, audit.log, {
    storageExists: async (transaction, organizationId, id) =>
      (await storageStore.findHeld(transaction, organizationId, id)) !== undefined,
    countProjects,
    memberLeft: (transaction, organizationId, userId) =>
      dropConsentOf(transaction, organizationId, userId, clock.now()),
    measureBackups: organizationTotals,
    heldBackup,
    keysChanged: async (transaction, organizationId, withdrawn = []) => {
      await renewKeyCopies(queue)(transaction, organizationId);
      await pitrStore.followKeys(transaction, organizationId, withdrawn);
      if (withdrawn.length === 0) await verifyUnread(transaction, organizationId, clock.now());
    },
    destinations: async (transaction, organizationId) =>
      (await storageStore.all(transaction, organizationId)).map((row) => stores.describe(row)),
    rewraps: [rewrapBackups(queue), rewrapJournals, rewrapLogs],
    pauseWork: async (transaction, organizationId) => {
      const kinds = [backupKind, verificationKind, restoreKind, drillKind, taskKind].map((kind) => kind(queue));
      await pauseWork(transaction, kinds, organizationId);
      await markWaitingForRecovery(transaction, organizationId);
    },
    purgeHooks: [purgeObjectsHook(queue), purgeLogsHook(queue), sendFinalEvents(platform)],
  });
  const notifications = createNotificationsModule(platform);
  const auth = createAuthModule(platform, {
    audit: audit.log,
    membershipsOf,
    activity: organizations.activity,
    organizationsExist,
    isInvited,
    createOrganization: async (founder, name) => {
      await organizations.create(founder, name);
    },
    consentGiven: (userId, email) => projects.consentGiven(userId, email),
  });
  const sources = new SourceOpener({
    config,
    keyring,
    openSample,
    consents: { refreshTokenOf: async (userId) => (await auth.providerRefreshToken(userId)) ?? undefined },
  });
  const stores = new StoreOpener({ config, keyring, outbound });
  const projects = createProjectsModule({
    platform,
    audit: audit.log,
    sources,
    dependents: {
      statistics: projectStatistics,
      runningJobs: async (transaction, organizationId, projectId) => [
        ...(await runningJobs(transaction, organizationId, projectId)),
        ...(await openWorkOf(transaction, organizationId, projectId)),
      ],
      pitr: (transaction, organizationId, ids) => pitrOfProjects(transaction, organizationId, ids, clock.now()),
      isCaptured: async (transaction, { organizationId, id }) =>
        (await pitrStore.find(transaction, organizationId, id)) !== undefined,
      bytesPerDocument,
      deleteBackups: (transaction, caller, project) => deleteBackupsOf(backupsContext, transaction, caller, project),
      reconnected: (transaction, { organizationId, id }) => pitrStore.retryNow(transaction, organizationId, id),
      removed: async (transaction, project) => {
        await deleteSchedulesOf(schedulesContext, transaction, project);
        await endPitrOf(pitrContext, transaction, project);
      },
      isDue: async (transaction, { organizationId, id }) =>
        (await dueOfProject(transaction, organizationId, id, clock.now())).length > 0,
      takeDue: (organizationId, projectId) => claimDueOfProject(schedulesContext, organizationId, projectId),
      move: async (transaction, project, toOrganizationId) => {
        await endPitrOf(pitrContext, transaction, project);
        await moveRestores(backupsContext, transaction, project, toOrganizationId);
        for (const scheduleId of await moveSchedules(platform, transaction, project, toOrganizationId))
          await notifications.troubles.endOfSchedule(transaction, project.organizationId, scheduleId);
        // Last, because no rollback can undo its changes to files.
        await moveBackups(backupsContext, transaction, project, toOrganizationId);
      },
    },
    roleUnderLock,
  });
  const backupsContext: BackupsContext = {
    platform,
    audit: audit.log,
    organizations: { active: activeOrganization, hold: holdOrganization },
    keys: createBackupKeys(organizations.organizationKeys, isTaken),
    projects,
    sources,
    stores,
    engine: new EngineResources(config.WORKER_CONCURRENCY, platform.cpuTurns),
    readers: async (transaction, organizationId, backupId) => {
      const readers = await readersOf(transaction, organizationId, backupId);
      const backup = await backupStore.find(transaction, organizationId, backupId);
      const bases = backup && (await basesRead(pitrContext, transaction, organizationId, backup.projectId));
      return [...readers, ...(bases?.get(backupId) ?? []).map((id) => ({ type: 'restore', id }))];
    },
    requireNotOnlyBase: (transaction, project, ids) => requireNotOnlyBase(pitrContext, transaction, project, ids),
    captured: (row, signal) => capturedState(pitrContext, row, signal),
    capturedSince: (row, chain, signal) => capturedSince(pitrContext, row, chain, signal),
    capturedDatabase: (row) => capturedDatabase(pitrContext, row),
    capturedMark: (row, signal) => capturedMark(pitrContext, row, signal),
    isPeriodicFull: (row) => isPeriodicFull(database, row),
    onEnded: (transaction, ended) => afterBackup(schedulesContext, transaction, ended),
    onFreed: (transaction, row) =>
      retentionCheckStore.request(transaction, row.organizationId, row.projectId, clock.now()),
    onUnproven: (transaction, backup, reason) =>
      recordAnomaly(schedulesContext, transaction, backup, { reason, before: null, after: null }),
  };
  const backups = createBackupsModule(backupsContext);
  const pitrContext: PitrContext = {
    backups: backupsContext,
    chains: backups,
    troubles: notifications.troubles,
    momentsRead,
  };
  const restores = createRestoresModule({
    ...backupsContext,
    backups,
    moments: momentsOf(pitrContext),
    sign: auth.sign,
  });
  const schedulesContext: SchedulesContext = {
    backups: backupsContext,
    organizations: { activeOf: activeOrganizations },
    startDrill: async (transaction, organizationId, backupId) => {
      const backup = await backupStore.get(transaction, organizationId, backupId);
      await requestDrill({ platform }, transaction, backup, null);
    },
    backupsRead: async (transaction, organizationId, projectId) => {
      const bases = await basesRead(pitrContext, transaction, organizationId, projectId);
      return new Set([...(await backupsRead(transaction, organizationId, projectId)), ...bases.keys()]);
    },
    safetyBackupsSince,
    basesNeeded: (transaction, organizationId, projectId) =>
      basesNeeded(pitrContext, transaction, organizationId, projectId),
    presentBackup: async (organizationId, backupId) => (await backups.answer(organizationId, backupId)).data,
    onUnfrozen: (transaction, project) =>
      notifications.troubles.endAnomalies(transaction, project.organizationId, project.id),
    onSwitchedOff: (transaction, { organizationId, id }) =>
      notifications.troubles.endOfSchedule(transaction, organizationId, id),
    presentProject: async (row) => (await projects.answer(row)).data,
  };
  const storage = createStorageModule({
    platform,
    audit: audit.log,
    stores,
    defaults: { ...defaultStorage, set: organizations.setDefaultStorage },
    dependents: {
      usage: storageUsage,
      contents: storageContents,
      users: async (transaction, organizationId, destinationId) => [
        ...(await usersOfDestination(transaction, organizationId, destinationId)),
        ...(await scheduleStore.usersOfDestination(transaction, organizationId, destinationId)),
        ...(await pitrStore.usersOfDestination(transaction, organizationId, destinationId)),
      ],
      removed: (transaction, { organizationId, id }) =>
        notifications.troubles.end(transaction, organizationId, ['storage.error'], id),
      takeKeys: (destination, signal) => removeKeysFrom(backupsContext, destination, { signal, attemptsMax: 2 }),
      connected: (transaction, { organizationId, id }) => enqueueKeyCopy(queue, transaction, organizationId, id),
      recovered: (transaction, { organizationId, id }) => verifyUnread(transaction, organizationId, clock.now(), id),
      credentialsGiven: async (transaction, destination) => {
        await rewrapManifestsIn(queue)(transaction, destination);
        await verifyUnread(transaction, destination.organizationId, clock.now());
      },
      ...storageTasks(backupsContext),
      ...withLogs(pitrContext, storageTasks(backupsContext)),
    },
  });
  const overview = createOverviewModule({
    platform,
    pitrOf: (transaction, organizationId, ids) => pitrOfProjects(transaction, organizationId, ids, clock.now()),
    isSessionOpen: auth.isSessionOpen,
    defaultStorageOf: defaultStorage.get,
    withdrawnKeysOf: withdrawnKeys,
  });
  return {
    modules: [
      audit.module,
      auth.module,
      organizations,
      notifications,
      projects,
      storage,
      backups,
      restores,
      createSchedulesModule(schedulesContext),
      createPitrModule(pitrContext),
      createWebhooksModule(platform, audit.log, async (transaction, organizationId, ids) =>
        (await projectStore.many(transaction, ids))
          .filter((project) => project.organizationId === organizationId)
          .map(({ id }) => id),
      ),
      overview,
    ],
    authenticator: auth.authenticator,
    onDenied: (denial) => audit.denials.record(denial),
    checkStorage: async () => ((await defaultsWork(database)) ? 'ok' : 'error'),
    measure: overview.measure,
    requireProvider: auth.requireProvider,
    signInLink: auth.signInLink,
    remindOfKits: organizations.remindOfKits,
    openSample: (named) => sources.openSample(named),
    close: () => sources.close(),
  };
}
