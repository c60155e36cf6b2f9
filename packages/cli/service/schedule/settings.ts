import type { Client } from '@holdfast/contract/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { collectionPaths } from '../../paths.ts';
import { positiveInteger, type ServiceOptions } from '../options.ts';
import { storageIdOf } from '../references.ts';

type Policy = NonNullable<Parameters<Client['createSchedule']>[0]['body']['retentionPolicy']>;

/** The settings in `add` and `edit`. */
export interface SettingOptions extends ServiceOptions {
  readonly timezone?: string;
  readonly type?: 'full' | 'incremental';
  readonly fullEvery?: number;
  readonly collections?: string[];
  readonly exclude?: string[];
  readonly subcollections?: boolean;
  readonly storage?: string[];
  readonly retention?: number;
  readonly keep?: Policy;
  readonly catchUp?: 'latest' | 'skip';
  readonly missedAfter?: number;
  readonly verifyEvery?: number;
  readonly drillEvery?: number;
}

export function withSettings(command: Command): Command {
  return command
    .option('--timezone <name>', "such as Europe/Berlin; absent: the organization's")
    .addOption(new Option('-t, --type <type>', 'what kind of backups').choices(['full', 'incremental']))
    .option('--full-every <n>', 'every n-th of incremental backups is full (7)', positiveInteger)
    .option('-c, --collections <paths...>', 'only these collections', collectionPaths)
    .option('--exclude <paths...>', 'leave these collections out', collectionPaths)
    .option('--no-subcollections', 'without the collections below the documents of the named collections')
    .option('-s, --storage <names...>', 'ids or names of the destinations; absent: the default one')
    .option('--retention <days>', 'keep each backup for this many days', positiveInteger)
    .option('--keep <rules>', 'or keep by periods: last:3,daily:7,weekly:4,monthly:12,yearly:5', parsePolicy)
    .addOption(new Option('--catch-up <how>', 'what an outage missed').choices(['latest', 'skip']))
    .option('--missed-after <minutes>', 'a run that has not begun by then is missed (15)', positiveInteger)
    .option('--verify-every <n>', 'verify every n-th backup', positiveInteger)
    .option('--drill-every <n>', 'run a drill with every n-th backup', positiveInteger);
}

export async function settingsOf(client: Client, options: SettingOptions) {
  const storages = await Promise.all((options.storage ?? []).map((name) => storageIdOf(client, name)));
  const { timezone, type, fullEvery, collections, exclude, retention, keep, catchUp, missedAfter } = options;
  return {
    ...(timezone && { timezone }),
    ...(type && { type }),
    ...(fullEvery && { fullEvery }),
    ...(collections && { collections }),
    ...(exclude && { excludeCollections: exclude }),
    ...(options.subcollections === false && { includeSubcollections: false }),
    ...(storages.length > 0 && { storageDestinationIds: storages }),
    ...(retention && { retention }),
    ...(keep && { retentionPolicy: keep }),
    ...(catchUp && { catchUp }),
    ...(missedAfter && { missedAfterMinutes: missedAfter }),
    ...(options.verifyEvery && { verifyEvery: options.verifyEvery }),
    ...(options.drillEvery && { drillEvery: options.drillEvery }),
  };
}

function parsePolicy(text: string): Policy {
  const policy: Record<string, number> = {};
  for (const part of text.split(',')) {
    const [, rule, count] = /^(last|daily|weekly|monthly|yearly):(\d{1,5})$/.exec(part.trim()) ?? [];
    if (rule === undefined) throw new InvalidArgumentError('Rules look like last:3,daily:7,weekly:4,monthly:12.');
    policy[rule] = Number(count);
  }
  return policy;
}
