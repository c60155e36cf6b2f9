import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { positiveInteger, type ServiceOptions } from '../options.ts';

export interface SettingOptions extends ServiceOptions {
  readonly timeoutMinutes?: number;
  readonly readRateLimit?: number | false;
  readonly maxReads?: number | false;
  readonly authUsers?: boolean;
  readonly rampUp?: boolean;
}

type Settings = NonNullable<Parameters<Client['createProject']>[0]['body']['settings']>;

export function withSettings(command: Command): Command {
  return command
    .option('--timeout-minutes <minutes>', 'a backup that takes longer fails', positiveInteger)
    .option('--read-rate-limit <count>', 'at most this many documents a second', positiveInteger)
    .option('--max-reads <count>', 'a backup that would read more stops', positiveInteger)
    .option('--auth-users', 'backups hold the accounts as well')
    .option('--no-ramp-up', 'restores write at full speed from the start');
}

/** Missing options leave the settings unchanged. */
export function settingsOf({ timeoutMinutes, readRateLimit, maxReads, authUsers, rampUp }: SettingOptions): Settings {
  return {
    ...(timeoutMinutes === undefined ? {} : { backupTimeoutMinutes: timeoutMinutes }),
    ...(readRateLimit === undefined ? {} : { readRateLimit: readRateLimit || null }),
    ...(maxReads === undefined ? {} : { maxReadsPerBackup: maxReads || null }),
    ...(authUsers === undefined ? {} : { includeAuthUsers: authUsers }),
    ...(rampUp === undefined ? {} : { writeRampUp: rampUp }),
  };
}
