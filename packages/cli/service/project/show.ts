import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { formatBytes, formatCount, printJson } from '../../output.ts';
import { printRecord } from '../lists.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { projectIdOf } from '../references.ts';
import { withService } from '../session.ts';

export type Project = Awaited<ReturnType<Client['getProject']>>;

export const projectArgument = ['<project>', 'id or name'] as const;

export function showCommand(): Command {
  return serviceCommand('show', 'everything known about a project')
    .argument(...projectArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const projectId = await projectIdOf(client, reference);
          showProject(await client.getProject({ params: { projectId } }), options);
        }),
    );
}

export function showProject(project: Project, { json }: ServiceOptions): void {
  if (json) {
    printJson(project);
    return;
  }
  const { connection, settings, statistics, retentionFrozen } = project;
  printRecord({
    Id: project.id,
    Name: project.name,
    Source: project.sourceProjectId,
    Database: project.databaseId,
    Connection: `${connection.type}, ${connection.status}`,
    As: connection.email,
    Error: connection.error === null ? null : `${connection.error.code}: ${connection.error.message}`,
    Advice: connection.error?.advice,
    Timeout: `${settings.backupTimeoutMinutes} minutes`,
    'Read limit': settings.readRateLimit === null ? null : `${formatCount(settings.readRateLimit)} per second`,
    'Read budget': settings.maxReadsPerBackup === null ? null : formatCount(settings.maxReadsPerBackup),
    'Write ramp-up': settings.writeRampUp ? null : 'off',
    Accounts: settings.includeAuthUsers ? 'backed up' : null,
    Retention: retentionFrozen === null ? null : `frozen since ${retentionFrozen.since}: ${retentionFrozen.reason}`,
    Backups: formatCount(statistics.backupCount),
    Stored: formatBytes(statistics.storageUsed),
    Documents: statistics.documentCount === null ? null : formatCount(statistics.documentCount),
    'Last good backup': statistics.lastBackupAt,
    'Newest attempt': statistics.lastBackupStatus,
    Created: project.createdAt,
  });
}
